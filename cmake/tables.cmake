# Everything in these folders is a scheme, a task or an op family; the table of each is written from the folder, so
# adding one touches one file. A file without its entry is a link error that names it.
#
#   sextant_table(OUT header type folder): writes OUT.cpp, which defines `std::vector<type> OUT()` from the functions
#   `type <namespace>::<file name>()` of the folder's files.
function(sextant_table name header type space folder out_sources)
  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  list(SORT files)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS files)
    get_filename_component(entry ${file} NAME_WE)
    string(APPEND declarations "${type} ${entry}();\n")
    string(APPEND calls "      ${space}::${entry}(),\n")
  endforeach()
  set(table ${CMAKE_BINARY_DIR}/generated/${name}.cpp)
  file(CONFIGURE OUTPUT ${table} CONTENT "// Written by cmake/tables.cmake from src/${folder}.
#include \"sextant/${header}\"

namespace sextant {
namespace ${space} {
${declarations}}  // namespace ${space}

const std::vector<${type}>& ${name}() {
  static const std::vector<${type}> table = {
${calls}  };
  return table;
}
}  // namespace sextant
" @ONLY)
  set(${out_sources} ${files} ${table} PARENT_SCOPE)
endfunction()
