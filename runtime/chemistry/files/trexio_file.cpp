#include "runtime/chemistry/files/trexio_file.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

extern "C" {  // which the header leaves to us
#include <trexio.h>
}

#include "runtime/core/base/error.h"
#include "runtime/core/base/output_file.h"
#include "runtime/core/job/hdf5_file.h"
#include "runtime/core/job/job.h"

namespace sial {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t max_elements = 100'000'000;
constexpr std::int32_t text_length = 256;  // of labels, with the NUL

/// An open file; `E` is what its errors are.
template <class E>
class File {
 public:
  File(const std::string& path, const std::string& shown, char mode, back_end_t kind) : path_(shown) {
    quiet_hdf5();
    trexio_exit_code code = TREXIO_SUCCESS;
    file_ = trexio_open(path.c_str(), mode, kind, &code);
    if (!file_ || code != TREXIO_SUCCESS) fail("cannot be opened", code);
  }
  ~File() {
    if (file_) trexio_close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void close() {
    const trexio_exit_code code = trexio_close(std::exchange(file_, nullptr));
    if (code != TREXIO_SUCCESS) fail("cannot be closed", code);
  }

  template <class Function, class... Args>
  void call(const char* what, Function function, Args... args) {
    if (const trexio_exit_code code = function(file_, args...); code != TREXIO_SUCCESS)
      fail(fmt::format("has a problem with {}", what), code);
  }

  template <class Has>
  bool has(Has function) {
    return function(file_) == TREXIO_SUCCESS;
  }

  /// Nothing where it is not there.
  template <class Has, class Read, class T>
  bool read(const char* what, Has has_it, Read function, T* out) {
    if (!has(has_it)) return false;
    call(what, function, out);
    return true;
  }

  /// A list of as many as there are; required.
  template <class Read, class T>
  void list(const char* what, Read function, std::vector<T>& out, std::int64_t size) {
    if (size < 0 || size > max_elements) fail(fmt::format("has {} elements of {}", size, what), TREXIO_INVALID_NUM);
    out.resize(static_cast<std::size_t>(size));
    call(what, function, out.data());
  }

  template <class Write, class T>
  void write(const char* what, Write function, const std::vector<T>& values) {
    call(what, function, values.data());
  }

  trexio_t* get() { return file_; }

 private:
  [[noreturn]] void fail(const std::string& what, trexio_exit_code code) const {
    throw E(fmt::format("the TREXIO file `{}` {}: {}", path_, what, trexio_string_of_error(code)),
            std::is_same_v<E, InputError> ? "is it a complete TREXIO file, HDF5 or a folder of texts?"
                                          : "is there space, and may the folder be written?");
  }

  std::string path_;
  trexio_t* file_ = nullptr;
};

/// A new folder that goes with its owner.
class NewFolder {
 public:
  explicit NewFolder(const fs::path& beside) {
    std::string name = ((beside.has_parent_path() ? beside.parent_path() : fs::path(".")) / ".trexio-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw EnvironmentError(fmt::format("cannot write `{}`: {}", beside.string(), std::strerror(errno)));
    path_ = name;
  }
  ~NewFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> out;
  for (const std::string& text : texts) out.push_back(text.c_str());
  return out;
}

std::int32_t count(std::size_t n) { return static_cast<std::int32_t>(n); }

void write_all(File<EnvironmentError>& f, const TrexioData& d) {
  const char* code = "sialx";
  f.call("metadata", trexio_write_metadata_code_num, 1);
  f.call("metadata", trexio_write_metadata_code, &code, text_length);
  f.call("metadata", trexio_write_metadata_description, d.description.c_str(), count(d.description.size()) + 1);
  f.call("nucleus", trexio_write_nucleus_num, count(d.nucleus_charge.size()));
  f.write("nucleus", trexio_write_nucleus_charge, d.nucleus_charge);
  f.write("nucleus", trexio_write_nucleus_coord, d.nucleus_coord);
  f.call("nucleus", trexio_write_nucleus_label, pointers(d.nucleus_label).data(), text_length);
  f.call("nucleus", trexio_write_nucleus_repulsion, d.repulsion);
  f.call("electron", trexio_write_electron_up_num, *d.up);
  f.call("electron", trexio_write_electron_dn_num, *d.down);
  f.call("electron", trexio_write_electron_num, *d.electrons);
  f.call("basis", trexio_write_basis_type, d.basis_type.c_str(), text_length);
  f.call("basis", trexio_write_basis_shell_num, count(d.shell_l.size()));
  f.call("basis", trexio_write_basis_prim_num, count(d.exponent.size()));
  f.write("basis", trexio_write_basis_nucleus_index, d.shell_nucleus);
  f.write("basis", trexio_write_basis_shell_ang_mom, d.shell_l);
  f.write("basis", trexio_write_basis_shell_factor, d.shell_factor);
  f.write("basis", trexio_write_basis_shell_index, d.primitive_shell);
  f.write("basis", trexio_write_basis_exponent, d.exponent);
  f.write("basis", trexio_write_basis_coefficient, d.coefficient);
  f.write("basis", trexio_write_basis_prim_factor, d.primitive_factor);
  f.call("ao", trexio_write_ao_cartesian, d.cartesian ? 1 : 0);
  f.call("ao", trexio_write_ao_num, count(d.ao_shell.size()));
  f.write("ao", trexio_write_ao_shell, d.ao_shell);
  f.write("ao", trexio_write_ao_normalization, d.ao_normalization);
  if (!d.ecp_core.empty()) {
    f.write("ecp", trexio_write_ecp_z_core, d.ecp_core);
    f.write("ecp", trexio_write_ecp_max_ang_mom_plus_1, d.ecp_max_l_plus_1);
    f.call("ecp", trexio_write_ecp_num, count(d.ecp_l.size()));
    f.write("ecp", trexio_write_ecp_nucleus_index, d.ecp_nucleus);
    f.write("ecp", trexio_write_ecp_ang_mom, d.ecp_l);
    f.write("ecp", trexio_write_ecp_power, d.ecp_power);
    f.write("ecp", trexio_write_ecp_exponent, d.ecp_exponent);
    f.write("ecp", trexio_write_ecp_coefficient, d.ecp_coefficient);
  }
  f.call("mo", trexio_write_mo_type, d.mo_type.c_str(), text_length);
  f.call("mo", trexio_write_mo_num, count(d.mo_occupation.size()));
  f.write("mo", trexio_write_mo_coefficient, d.mo_coefficient);
  if (!d.mo_energy.empty()) f.write("mo", trexio_write_mo_energy, d.mo_energy);
  f.write("mo", trexio_write_mo_occupation, d.mo_occupation);
  f.write("mo", trexio_write_mo_spin, d.mo_spin);
  f.call("mo", trexio_write_mo_class, pointers(d.mo_class).data(), text_length);
}

void read_nuclei(File<InputError>& f, TrexioData& d) {
  std::int32_t n = 0;
  if (!f.read("nucleus", trexio_has_nucleus_num, trexio_read_nucleus_num, &n)) return;
  f.list("nucleus_charge", trexio_read_nucleus_charge, d.nucleus_charge, n);
  f.list("nucleus_coord", trexio_read_nucleus_coord, d.nucleus_coord, std::int64_t{3} * n);
  if (f.has(trexio_has_nucleus_label)) {
    // As many as the charges, which were there.
    std::vector<std::string> texts(static_cast<std::size_t>(n), std::string(text_length, '\0'));
    std::vector<char*> places;
    for (std::string& text : texts) places.push_back(text.data());
    f.call("nucleus_label", trexio_read_nucleus_label, places.data(), text_length - 1);
    for (const std::string& text : texts) d.nucleus_label.emplace_back(text.c_str());
  }
  const auto number = [&](auto has, auto read, std::optional<std::int32_t>& to) {
    std::int32_t value = 0;
    if (f.read("electron", has, read, &value)) to = value;
  };
  number(trexio_has_electron_up_num, trexio_read_electron_up_num, d.up);
  number(trexio_has_electron_dn_num, trexio_read_electron_dn_num, d.down);
  number(trexio_has_electron_num, trexio_read_electron_num, d.electrons);
}

void read_basis(File<InputError>& f, TrexioData& d) {
  std::int32_t shells = 0, primitives = 0, cartesian = 0;
  if (!f.read("basis", trexio_has_basis_shell_num, trexio_read_basis_shell_num, &shells)) return;
  std::string type(text_length, '\0');
  f.call("basis_type", trexio_read_basis_type, type.data(), text_length - 1);
  d.basis_type = type.substr(0, type.find('\0'));
  f.call("basis_prim_num", trexio_read_basis_prim_num, &primitives);
  f.list("basis_nucleus_index", trexio_read_basis_nucleus_index, d.shell_nucleus, shells);
  f.list("basis_shell_ang_mom", trexio_read_basis_shell_ang_mom, d.shell_l, shells);
  f.list("basis_shell_index", trexio_read_basis_shell_index, d.primitive_shell, primitives);
  f.list("basis_exponent", trexio_read_basis_exponent, d.exponent, primitives);
  f.list("basis_coefficient", trexio_read_basis_coefficient, d.coefficient, primitives);
  f.list("basis_prim_factor", trexio_read_basis_prim_factor, d.primitive_factor, primitives);
  f.call("ao_cartesian", trexio_read_ao_cartesian, &cartesian);
  d.cartesian = cartesian != 0;
}

void read_potentials(File<InputError>& f, TrexioData& d) {
  std::int32_t terms = 0;
  if (!f.read("ecp", trexio_has_ecp_num, trexio_read_ecp_num, &terms)) return;
  const auto atoms = std::ssize(d.nucleus_charge);
  f.list("ecp_z_core", trexio_read_ecp_z_core, d.ecp_core, atoms);
  f.list("ecp_max_ang_mom_plus_1", trexio_read_ecp_max_ang_mom_plus_1, d.ecp_max_l_plus_1, atoms);
  f.list("ecp_nucleus_index", trexio_read_ecp_nucleus_index, d.ecp_nucleus, terms);
  f.list("ecp_ang_mom", trexio_read_ecp_ang_mom, d.ecp_l, terms);
  f.list("ecp_power", trexio_read_ecp_power, d.ecp_power, terms);
  f.list("ecp_exponent", trexio_read_ecp_exponent, d.ecp_exponent, terms);
  f.list("ecp_coefficient", trexio_read_ecp_coefficient, d.ecp_coefficient, terms);
}

void read_orbitals(File<InputError>& f, TrexioData& d) {
  std::int32_t orbitals = 0, functions = 0;
  if (!f.read("mo_num", trexio_has_mo_num, trexio_read_mo_num, &orbitals) || !f.has(trexio_has_mo_coefficient) ||
      f.has(trexio_has_mo_coefficient_im) || !f.has(trexio_has_ao_shell) ||
      !f.read("ao_num", trexio_has_ao_num, trexio_read_ao_num, &functions))
    return;
  f.list("ao_shell", trexio_read_ao_shell, d.ao_shell, functions);
  if (f.has(trexio_has_ao_normalization))
    f.list("ao_normalization", trexio_read_ao_normalization, d.ao_normalization, functions);
  if (f.has(trexio_has_basis_shell_factor))
    f.list("basis_shell_factor", trexio_read_basis_shell_factor, d.shell_factor, std::ssize(d.shell_l));
  f.list("mo_coefficient", trexio_read_mo_coefficient, d.mo_coefficient, std::int64_t{orbitals} * functions);
  if (f.has(trexio_has_mo_occupation)) f.list("mo_occupation", trexio_read_mo_occupation, d.mo_occupation, orbitals);
  if (f.has(trexio_has_mo_spin)) f.list("mo_spin", trexio_read_mo_spin, d.mo_spin, orbitals);
}

/// Radial functions with powers of r, which libraries before 2.4 do not know.
void refuse_powers(const std::string& path) {
  const Hdf5File file = Hdf5File::open(path);
  for (const char* name : {"basis/basis_r_power", "basis/basis_oscillation_arg"}) {
    if (!file.exists(name)) continue;
    const std::vector<double> values = file.read(name);
    if (std::any_of(values.begin(), values.end(), [](double x) { return x != 0.0; }))
      throw InputError(fmt::format("the TREXIO file `{}` has functions that are no plain Gaussians ({})", path, name),
                       "basis sets of Gaussian functions can be read");
  }
}

}  // namespace

bool has_trexio() { return true; }

void require_trexio() {}

void write_trexio_file(const std::string& path, const TrexioData& data) {
  const fs::path place = link_end(path);
  const NewFolder folder(place);
  const fs::path written = folder.path() / place.filename();
  File<EnvironmentError> file(written.string(), path, 'w', is_trexio_text(path) ? TREXIO_TEXT : TREXIO_HDF5);
  write_all(file, data);
  file.close();
  std::error_code failure;
  fs::rename(written, place, failure);
  if (failure) throw EnvironmentError(fmt::format("cannot write `{}`: {}", path, failure.message()));
}

TrexioData read_trexio_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw InputError(fmt::format("there is no TREXIO file `{}`", path));
  const bool folder = fs::is_directory(path, ignored);
  if (!folder && !fs::is_regular_file(path, ignored))
    throw InputError(fmt::format("cannot read `{}`: it is no regular file", path));
  if (folder && !fs::exists(fs::path(path) / "metadata.txt", ignored))
    throw InputError(fmt::format("the folder `{}` is no TREXIO file", path), "its texts include metadata.txt");
  File<InputError> file(path, path, 'r', folder ? TREXIO_TEXT : TREXIO_HDF5);
  std::int32_t periodic = 0;
  file.read("pbc_periodic", trexio_has_pbc_periodic, trexio_read_pbc_periodic, &periodic);
  if (periodic != 0)
    throw InputError(fmt::format("the TREXIO file `{}` has a periodic system", path), "molecules can be read");
  if (!folder) refuse_powers(path);
  TrexioData data;
  read_nuclei(file, data);
  read_basis(file, data);
  read_potentials(file, data);
  read_orbitals(file, data);
  return data;
}

}  // namespace sial
