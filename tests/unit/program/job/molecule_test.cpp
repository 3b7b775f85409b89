#include <catch2/catch.hpp>

#include <cmath>
#include <cstdlib>

#include "runtime/chemistry/basis/basis.h"
#include "runtime/chemistry/molecule/chemistry.h"
#include "runtime/chemistry/molecule/molecule.h"
#include "tests/unit/program/job/folder.h"

using namespace sial;
using Catch::Matchers::Contains;

TEST_CASE("xyz files") {
  Folder f;
  std::vector<std::string> warnings;
  auto atoms = read_xyz(f.write("h2.xyz", "2\r\n\r\nh 0 0 0\r\n1 0 0 0.74\r\n\r\n"), warnings);
  REQUIRE(atoms.size() == 2);
  CHECK(atoms[1].charge == 1);
  CHECK(atoms[0].symbol == "H");
  CHECK(atoms[1].position[2] == Approx(0.74 / 0.52917721092));
  auto error = [&](const std::string& text) { return error_of([&] { read_xyz(f.write("bad.xyz", text), warnings); }); };
  CHECK_THAT(error(""), Contains("number of atoms") && Contains("bad.xyz:1"));
  CHECK_THAT(error("3\n\nO 0 0 0\nH 0 0 1\n"), Contains("ends after 2 of 3 atoms") && Contains("bad.xyz:5"));
  CHECK_THAT(error("2\n\nO 0 0 0\nH 0 0\n"), Contains("three coordinates") && Contains("bad.xyz:4"));
  CHECK_THAT(error("2\n\nO 0 0 0\nQq 0 0 1\n"), Contains("unknown element `Qq`") && Contains("bad.xyz:4"));
  CHECK_THAT(error("1\n\nO 0 0 0\nH 0 0 1\n"), Contains("after the last") && Contains("bad.xyz:4"));
  CHECK_THAT(error("2\n\nO 0 0 0\nH 0 0 0\n"), Contains("same place"));
  CHECK_THAT(error_of([&] { read_xyz(f.path("none.xyz"), warnings); }), Contains("none.xyz"));
}

TEST_CASE("checkpoints know a molecule by its geometry and its basis set") {
  JobData data;
  CHECK(identity_of_chemistry(data).empty());
  chemistry(data).has_molecule = true;
  Molecule& m = chemistry(data).molecule;
  m.atoms = {{1, "h", {0, 0, 0}}, {1, "h", {0, 0, 1.4}}};
  m.shells = {{0, 0, true, {1.0, 0.5}, {0.3, 0.7}, 1}};
  const auto before = identity_of_chemistry(data);
  m.atoms[1].position[2] = 1.5;
  const auto moved = identity_of_chemistry(data);
  CHECK(moved.at("geometry") != before.at("geometry"));
  CHECK(moved.at("basis set") == before.at("basis set"));
  m.shells[0].coefficients[0] = 0.4;
  CHECK(identity_of_chemistry(data).at("basis set") != before.at("basis set"));
}

TEST_CASE("coordinates of xyz files are whole numbers") {
  Folder f;
  std::vector<std::string> warnings;
  const auto error = [&](const std::string& text) {
    return error_of([&] { read_xyz(f.write("bad.xyz", text), warnings); });
  };
  CHECK(read_xyz(f.write("d.xyz", "2\n\nH 0 0 0\nH 0 0 7.4D-1\n"), warnings)[1].position[2] ==
        Approx(0.74 / bohr_in_angstrom));
  for (const char* number : {"1,74", "0.7.4", "0.74x", "nan", "inf", "0x1", "1e", "1e999"}) {
    INFO(number);
    CHECK_THAT(error(std::string("2\n\nH 0 0 0\nH 0 0 ") + number + "\n"),
               Contains(std::string("`") + number + "` is not a number") && Contains("bad.xyz:4"));
  }
  CHECK_THAT(error("2x\n\nH 0 0 0\nH 0 0 1\n"), Contains("number of atoms") && Contains("bad.xyz:1"));
  CHECK_THAT(error("2.0\n\nH 0 0 0\nH 0 0 1\n"), Contains("number of atoms"));
  CHECK_THAT(error("1000000\n"), Contains("more than 20000"));
  CHECK_THAT(error("2\n\nH 0 0 0\nH 0 0 1 0.5\n"),
             Contains("`0.5` follows the coordinates of `H`") && Contains("bad.xyz:4") && Contains("Properties="));
  CHECK_THAT(error("1\n\n+1x 0 0 0\n"), Contains("unknown element `+1x`"));
  CHECK(warnings.empty());
}

TEST_CASE("atoms of xyz files have numbers, isotopes and ghosts") {
  Folder f;
  std::vector<std::string> warnings;
  const auto read = [&](const std::string& label) {
    return read_xyz(f.write("l.xyz", "1\n\n" + label + " 0 0 1\n"), warnings).at(0);
  };
  for (const auto& [label, number] : std::vector<std::pair<const char*, int>>{
           {"C1", 6}, {"H_2", 1}, {"h1a", 1}, {"Cl12", 17}, {"D", 1}, {"t", 1}, {"2H", 1}, {"13C", 6}}) {
    INFO(label);
    CHECK(read(label).charge == number);
  }
  for (const char* label : {"Gh(O)", "gh.O", "@O", "ghost-O", "GHOST-O1", "X-O", "X_O", "O-Bq", "O_bq", "BqO",
                            "O:", "O :", "O(ghost)", "O_ghost"}) {
    INFO(label);
    const Atom ghost = read(label);
    CHECK(ghost.charge == 0);
    CHECK(ghost.symbol == "Gh(O)");
    CHECK(element_of(ghost) == 8);
    CHECK(read_basis(find_basis("sto-3g", "."), {ghost}, true).size() == 3);
  }
  for (const char* label : {"X", "X1", "0", "Bq", "Gh", "ghost1"}) {
    INFO(label);
    CHECK_THAT(error_of([&] { read(label); }), Contains("ghost atom of no known element") && Contains("l.xyz:3"));
  }
  for (const char* label : {"O-2", "Na+", "99H", "Qq1", "C-13"})
    CHECK_THAT(error_of([&] { read(label); }), Contains("unknown element") && Contains("l.xyz:3"));
  CHECK(read("Xe").charge == 54);
  CHECK(warnings.empty());
  CHECK(read_xyz(f.write("m.xyz",
                         "\xEF\xBB\xBF"
                         "1\n\nH\t0 0 1.0*^-3\n"),
                 warnings)[0]
            .position[2] == Approx(1e-3 / bohr_in_angstrom));
  CHECK_THAT(error_of([&] { read_xyz(f.write("m.xyz", "\n1\n\nH 0 0 1\n"), warnings); }),
             Contains("number of atoms") && Contains("m.xyz:1"));
}

TEST_CASE("the second line of an xyz file may say charge and multiplicity") {
  Folder f;
  std::vector<std::string> warnings;
  XyzElectrons said;
  const auto read = [&](const std::string& comment) {
    read_xyz(f.write("e.xyz", "1\n" + comment + "\nH 0 0 1\n"), warnings, &said);
  };
  read("charge=-1 multiplicity=\"3\" spin=2");
  CHECK((said.charge == -1 && said.multiplicity == 3 && said.spin == 2.0));
  read("no charge, energy=-1 discharge=4");
  CHECK_FALSE((said.charge || said.multiplicity || said.spin));
  CHECK(warnings.empty());
  read("charge=0.4");
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("e.xyz:2") && Contains("0.4"));
  for (const char* comment : {"charge=1 total_charge=0", "charge=x", "charge=none"}) {
    warnings.clear();
    read(comment);
    CHECK((warnings.size() == 1 && !said.charge));
  }
  read("charge=0, multiplicity=1;");
  CHECK((said.charge == 0 && said.multiplicity == 1));
}

TEST_CASE("extended xyz files say which columns they have") {
  Folder f;
  std::vector<std::string> warnings;
  const auto read = [&](const std::string& comment, const std::string& rest) {
    return read_xyz(f.write("e.xyz", "1\n" + comment + "\nH 0 0 1" + rest + "\n"), warnings);
  };
  CHECK(read("Properties=species:S:1:pos:R:3 pbc=\"F F F\"", "").size() == 1);
  CHECK(warnings.empty());
  CHECK(read("Lattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:forces:R:3:charge:R:1 pbc=\"F F F\"",
             " 1 2 3 x")[0]
            .position[2] == Approx(1 / bohr_in_angstrom));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("e.xyz:2: ignored columns: forces, charge"));
  const auto error = [&](const std::string& comment, const std::string& rest) {
    return error_of([&] { read(comment, rest); });
  };
  CHECK_THAT(error("Properties=species:S:1:pos:R:3:charge:R:1", ""),
             Contains("4 columns, and the second line names 5") && Contains("e.xyz:3"));
  CHECK_THAT(error("Properties=id:I:1:species:S:1:pos:R:3", " 1"),
             Contains("columns are `id:I:1:species") && Contains("e.xyz:2"));
  CHECK_THAT(error("Properties=species:S:1:pos:R:3:charge:R", " 1"), Contains("no list of columns"));
  CHECK_THAT(error("no Properties here", " 1"), Contains("follows the coordinates"));
  for (const char* periodic : {"pbc=\"T T F\"", "Lattice=\"9 0 0 0 9 0 0 0 9\"", "pbc=\"F F 1\" Lattice=\"\""})
    CHECK_THAT(error(periodic, ""), Contains("periodic cell") && Contains("e.xyz:2"));
}

TEST_CASE("atoms that are too near") {
  Folder f;
  std::vector<std::string> warnings;
  const auto read = [&](const std::string& text) { read_xyz(f.write("near.xyz", text), warnings); };
  CHECK_THAT(error_of([&] { read("3\n\nO 0 0 0\nH 0 0 1\nH 0 0.09 0\n"); }),
             Contains("atoms 1 and 3 are 0.09 Angstrom apart") && Contains("near.xyz:5"));
  read("2\n\nH 0 0 0\nH 0 0 0.32\n");
  CHECK(warnings.empty());
  read("2\n\nO 0 0 0\nH 0 0 0.4\n");  // half a usual bond: 0.485
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("near.xyz:4: atoms 1 (O) and 2 (H) are 0.4 Angstrom apart") && Contains("0.97"));
  warnings.clear();
  std::string chain = "12\n\n";
  for (int i = 0; i < 12; ++i) chain += "C 0 0 " + std::to_string(0.7 * i) + "\n";
  read(chain);
  REQUIRE(warnings.size() == 6);
  CHECK_THAT(warnings[5], Contains("6 more pairs"));
}

TEST_CASE("twenty thousand atoms are read at once") {
  Folder f;
  std::vector<std::string> warnings;
  std::string text = "20000\n\n";
  for (int i = 0; i < 20000; ++i)
    text += "H " + std::to_string(i % 27) + " " + std::to_string(i / 27 % 27) + " " + std::to_string(i / 729) + "\n";
  CHECK(read_xyz(f.write("many.xyz", text), warnings).size() == 20000);
  CHECK(warnings.empty());
}

TEST_CASE("the chemical core is the noble gas before each atom, and a filled f shell") {
  Molecule m;
  std::int32_t number = 1;
  for (auto [last, orbitals] : {std::pair{2, 0}, {10, 1}, {18, 5}, {36, 9}, {54, 18}, {71, 27}, {86, 34}, {103, 43}})
    for (; number <= last; ++number) {
      m.atoms.assign(2, Atom{});
      m.atoms[0].charge = number, m.atoms[1].charge = 8;
      INFO(number);
      CHECK(chemical_core(m) == orbitals + 1);
    }
}

TEST_CASE("basis files: shells, names, normalisation") {
  Folder f;
  std::vector<Atom> atoms(1);
  atoms[0].charge = 8;
  auto shells = read_basis(find_basis("6-31G*", "."), atoms, true);
  REQUIRE(shells.size() == 6);  // s, then s and p of each of two SP shells, then d
  CHECK(shells[1].l == 0);
  CHECK(shells[2].l == 1);
  CHECK(shells[1].exponents == shells[2].exponents);
  CHECK(shells[5].l == 2);
  CHECK(shells[5].pure);
  CHECK_FALSE(shells[2].pure);
  CHECK_FALSE(read_basis(find_basis("6-31g*", "."), atoms, false)[5].pure);
  for (const Shell& s : shells) {
    double norm = 0;
    for (std::size_t p = 0; p < s.exponents.size(); ++p)
      for (std::size_t q = 0; q < s.exponents.size(); ++q) {
        double a = s.exponents[p], b = s.exponents[q];
        norm +=
            s.coefficients[p] * s.coefficients[q] * std::pow(4 * a * b, 0.5 * s.l + 0.75) / std::pow(a + b, s.l + 1.5);
      }
    CHECK(norm == Approx(1.0).epsilon(1e-13));
  }
  CHECK_THAT(error_of([] { find_basis("6-31h", "."); }),
             Contains("unknown basis `6-31h`") && Contains("cc-pvdz") && Contains("SIAL_BASIS_PATH"));

  f.write("mine.g94", "! comment\n****\nO 0\nS 2 1.0\n 1.0D+01 0.5\n 2.0 0.5\n****\n");
  setenv("SIAL_BASIS_PATH", ("/nonexistent:" + f.path("")).c_str(), 1);
  CHECK(read_basis(find_basis("Mine", "."), atoms, true).at(0).exponents == std::vector<double>{10.0, 2.0});
  unsetenv("SIAL_BASIS_PATH");
  CHECK(read_basis(find_basis("./mine.g94", f.path("")), atoms, true).size() == 1);

  std::vector<Atom> with_h = atoms;
  with_h.emplace_back().charge = 1;
  CHECK_THAT(error_of([&] { read_basis(f.path("mine.g94"), with_h, true); }), Contains("no functions for H"));
  auto error = [&](const std::string& text) {
    return error_of([&] { read_basis(f.write("bad.g94", text), atoms, true); });
  };
  CHECK_THAT(error(""), Contains("bad.g94") && Contains("no element"));
  CHECK_THAT(error("O 0\nS 3 1.0\n 1.0 0.5"), Contains("after 1 of 3") && Contains("bad.g94:3"));
  CHECK_THAT(error("O 0\nS 1 1.0\n 1.0\n****\n"), Contains("bad.g94:3"));
  CHECK_THAT(error("O 0\nS 1 1.0\n 1.0 x\n****\n"), Contains("`x` is not a number") && Contains("bad.g94:3"));
  CHECK_THAT(error("O 0\nX 1 1.0\n 1.0 1.0\n****\n"), Contains("shell type") && Contains("bad.g94:2"));
  CHECK_THAT(error("O 0\nS 1x 1.0\n 1.0 1.0\n****\n"), Contains("expected a shell line") && Contains("bad.g94:2"));
  CHECK_THAT(error("O 0\nS 1 1.0\n 1.0 1.0 2.0\n****\n"),
             Contains("`2.0` follows the numbers") && Contains("bad.g94:3"));
  CHECK_THAT(error("O 0\nS 1 1.0\n 1,0 1.0\n****\n"), Contains("`1,0` is not a number"));
  CHECK_THAT(error("O 0\nSP 1 1.0 1.2\n 1.0 1.0 1.0\n****\n"), Contains("several scale factors"));
  CHECK(read_basis(f.write("printed.g94", "O 0\nSP 1 1.0 0.000\n 1.0d0 1.0 1.0 ! last\n****\n"), atoms, true).size() ==
        2);
  CHECK_THAT(error_of([&] { read_basis("/dev/zero", atoms, true); }), Contains("it is a device"));
  CHECK_THAT(error("<html>\n"), Contains("element line") && Contains("bad.g94:1"));
  CHECK_THAT(error("O 0\nS 1 1.0\n 1.0 1.0\n"), Contains("ends inside element O"));
  CHECK_THAT(error_of([&] { read_basis(f.path(""), atoms, true); }), Contains("cannot read the basis file"));
}

TEST_CASE("a further block of an element adds to it") {
  Folder f;
  std::vector<Atom> atoms(1);
  atoms[0].charge = 8;
  std::vector<std::string> warnings;
  const std::string first = "O 0\nS 1 1.0\n 9.0 1.0\nP 1 1.0\n 2.0 1.0\n****\n",
                    second = "O 0\nS 1 1.0\n 0.1 1.0\n****\n";
  const auto read = [&](const std::string& text) {
    return read_basis(f.write("two.g94", text), atoms, {}, &warnings).size();
  };
  CHECK(read(first + second) == 3);
  CHECK(warnings.empty());
  CHECK(read(first + second + first) == 3);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Contains("two.g94:11: 2 shells of O repeated from above are left out"));
  CHECK(read("\xEF\xBB\xBF! by Psi4\ncartesian\n****\n" + first + "O 0\nD 1 1.0\n 1.0 1.0\n****\n") == 3);
  REQUIRE(warnings.size() == 2);
  CHECK_THAT(warnings[1], Contains("Cartesian") && Contains("state `spherical`"));
}

TEST_CASE("basis files in the format of NWChem") {
  Folder f;
  std::vector<Atom> atoms(2);
  atoms[0].charge = 17, atoms[1].charge = 1;
  std::vector<std::string> warnings;
  const std::string basis =
      "# comment\nBASIS \"ao basis\" SPHERICAL PRINT\n#BASIS SET: (2s)\nH    S\n 1.3D+01 1.9D-02 0.0\n 1.9 0.1 1.0 # last\n"
      "Cl    SP\n 2.0 1.0 0.5\n 1.0 1.0 0.5\nCL    S\n 0.1 1.0\nEND\n";
  const std::string potential =
      "ECP\nCl nelec 10\nCl ul\n1 94.8 -10.0\n2 165.0 66.0\nCl S\n0 128.0 3.0\nCl P\n2 1.0 1.0\nEND\n";
  const std::string path = f.write("chlorine.basis", basis + potential);
  CHECK(find_basis("chlorine.basis", f.path("")) == path);
  const auto shells = read_basis(find_basis("x.nw", (f.write("x.nw", basis), f.path(""))), atoms, true, &warnings);
  REQUIRE(shells.size() == 5);
  CHECK((shells[1].l == 1 && shells[2].l == 0 && shells[2].exponents == std::vector<double>{0.1}));
  CHECK(shells[3].exponents == std::vector<double>{13.0, 1.9});
  CHECK(shells[4].exponents == std::vector<double>{1.9});
  CHECK(warnings.empty());
  for (const auto& [head, stated, n] : {std::tuple{"BASIS SPHERICAL", std::optional<bool>(), 0u},
                                        {"BASIS", std::nullopt, 1u},
                                        {"basis cartesian", std::nullopt, 1u},
                                        {"BASIS", true, 0u},
                                        {"BASIS", false, 0u}}) {
    warnings.clear();
    read_basis(f.write("d.nw", std::string(head) + "\nCl D\n 1.0 1.0\nEND\nECP\nCl nelec 10\nEND\n"), {atoms[0]},
               stated, &warnings);
    CHECK(warnings.size() == n);
  }
  const auto ecps = read_ecps(path, atoms);
  REQUIRE((ecps.size() == 1 && ecps[0].terms.size() == 4));
  CHECK(
      (ecps[0].electrons == 10 && ecps[0].terms[0].l == -1 && ecps[0].terms[0].power == 1 && ecps[0].terms[3].l == 1));
  const auto error = [&](const std::string& text) {
    return error_of([&] { read_ecps(f.write("bad.nw", text), atoms); });
  };
  CHECK_THAT(error("basis\nO library 6-31g\nend\n"), Contains("library of NWChem") && Contains("bad.nw:2"));
  CHECK_THAT(error("H S\n 1.0 1.0\n 1.0\n"), Contains("as in the row above") && Contains("bad.nw:3"));
  CHECK_THAT(error("H SP\n 1.0 1.0\n"), Contains("1 columns of coefficients"));
  CHECK_THAT(error("H S\nH P\n"), Contains("0 columns"));
  CHECK_THAT(error("H X\n"), Contains("bad.nw:1"));
  CHECK_THAT(error("ECP\nCl ul\n2 1.0 1.0\nEND\n"), Contains("no `nelec`"));
  CHECK_THAT(error("ECP\nCl nelec 10\nCl ul\n2.5 1.0 1.0\nEND\n"), Contains("power, exponent and coefficient"));
  CHECK_THAT(error(basis + "SO\nCl p\n"), Contains("spin-orbit"));
}

TEST_CASE("effective core potentials of basis files") {
  Folder f;
  std::vector<Atom> atoms(3);
  atoms[0].charge = 17, atoms[1].charge = 1, atoms[2].charge = 17;
  const std::string shells = "H 0\nS 1 1.0\n 1.0 1.0\n****\nCl 0\nS 1 1.0\n 2.0 1.0\n****\n\n";
  const std::string head = shells + "CL     0\nCL-ECP     1     10\n";
  std::string path =
      f.write("e.g94", head + "p potential\n  2\n1 94.813 -10.0D+00\n2 165.0 66.0\ns-p potential\n  1\n0 128.0 3.0\n");
  auto ecps = read_ecps(path, atoms);
  REQUIRE(ecps.size() == 2);
  CHECK(ecps[0].atom == 0);
  CHECK(ecps[1].atom == 2);
  CHECK(ecps[1].electrons == 10);
  REQUIRE(ecps[1].terms.size() == 3);
  CHECK(ecps[1].terms[0].l == -1);
  CHECK(ecps[1].terms[0].power == 1);
  CHECK(ecps[1].terms[0].coefficient == -10.0);
  CHECK(ecps[1].terms[2].l == 0);
  CHECK(ecps[1].terms[2].power == 0);
  CHECK(ecps[1].terms[2].exponent == 128.0);
  CHECK(read_basis(path, atoms, true).size() == 3);
  CHECK(read_ecps(f.write("none.g94", shells), atoms).empty());

  auto error = [&](const std::string& text) {
    return error_of([&] { read_ecps(f.write("bad.g94", head + text), atoms); });
  };
  CHECK_THAT(error("p potential\n 2\n1 94.813 -10.0\n"), Contains("ends inside element Cl"));
  CHECK_THAT(error("p potential\nmany\n"), Contains("number of terms") && Contains("bad.g94:13"));
  CHECK_THAT(error("p potential\n 1\n1 -94.8 3.0\n"), Contains("positive"));
  CHECK_THAT(error("p potential\n 1\n1 94.8\n"), Contains("more numbers"));
  CHECK_THAT(error_of([&] { read_ecps(f.write("bad.g94", "Cl 0\nCL-ECP 1\n"), atoms); }),
             Contains("`CL-ECP 2 10`") && Contains("bad.g94:2"));
  CHECK_THAT(error_of([&] { read_ecps(f.write("bad.g94", "Cl 0\nCL-ECP 1 18\n"), atoms); }),
             Contains("electrons replaced"));
}

TEST_CASE("every basis file that comes with the program can be read") {
  std::vector<Atom> atoms(3);
  atoms[0].charge = 1, atoms[1].charge = 6, atoms[2].charge = 8;
  for (const char* name : {"sto-3g", "3-21g", "6-31g", "6-31g*", "6-31g**", "6-311g**", "cc-pvdz", "cc-pvtz",
                           "aug-cc-pvdz", "def2-svp", "def2-tzvp"}) {
    INFO(name);
    CHECK(read_basis(find_basis(name, "."), atoms, true).size() >= 5);
  }
}
