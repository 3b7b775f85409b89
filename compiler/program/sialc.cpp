#include "compiler/program/sialc_command.h"

int main(int argc, char** argv) { return sial::sialc_main(argc, argv, nullptr); }
