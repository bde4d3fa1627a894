"""What the peers share. Import it before torch: `prefer_openmp` may restart the program.

PyTorch's OpenMP threads and those of OpenBLAS's default (pthread) flavour get in each other's way. Where Debian's
libopenblas0-openmp is installed, the program restarts itself on that flavour, unless its arguments hold --pthread.
"""
import argparse
import glob
import os
import sys

OPENMP = sorted(glob.glob("/usr/lib/*/openblas-openmp/libblas.so.3"))


def blas():
    return "openmp" if OPENMP and OPENMP[0] in os.environ.get("LD_PRELOAD", "") else "default"


def prefer_openmp():
    if OPENMP and blas() == "default" and "--pthread" not in sys.argv:
        os.environ["LD_PRELOAD"] = OPENMP[0]
        os.execv(sys.executable, sys.orig_argv)


def blas_option(parser):
    parser.add_argument("--pthread", action="store_true", help="stay on the default flavour of OpenBLAS")


def positive(text):
    """The type of an option that is a whole number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)
