#pragma once
// TREXIO files on the disk: HDF5, or a folder of texts. The only component that knows the library; without it both
// functions throw EnvironmentError that says so.

#include <string>

#include "runtime/chemistry/files/trexio.h"

namespace sial {

/// Whether this program was built with the library.
bool has_trexio();
/// Throws EnvironmentError where it was not.
void require_trexio();

/// The file is written beside its place and renamed when it is complete. Throws EnvironmentError.
void write_trexio_file(const std::string& path, const TrexioData& data);

/// What is not in the file stays empty. Throws InputError naming the file for what is no TREXIO file or not complete.
TrexioData read_trexio_file(const std::string& path);

}  // namespace sial
