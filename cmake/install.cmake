include(GNUInstallDirs)
install(TARGETS sextant_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY data models experiments DESTINATION ${CMAKE_INSTALL_DATADIR}/sextant)
