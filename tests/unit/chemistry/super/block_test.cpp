#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "tests/unit/chemistry/super/context.h"

using namespace sial;
using Catch::Matchers::Contains;
using Values = std::vector<double>;

TEST_CASE("the table of super instructions") {
  std::set<std::string> names;
  for (const SuperRow& row : super_rows()) {
    CHECK(row.body != nullptr);
    CHECK(names.insert(row.name).second);
    CHECK(find_super(row.name) == &row);
  }
  CHECK(find_super("Return_OVL") != nullptr);
  CHECK(find_super("return_ovlp") == nullptr);
  CHECK(close_super_names("return_ovlp").at(0) == "return_ovl");
  CHECK(close_super_names("fill_block_sequentia").at(0) == "fill_block_sequential");
  CHECK(close_super_names("zzzzzz").empty());
}

TEST_CASE("fills") {
  FakeContext c;
  Array a({2, 3});
  Scalar start{5.5};
  execute(c, "fill_block_sequential", {a, start});
  CHECK(a.data == Values{5.5, 6.5, 7.5, 8.5, 9.5, 10.5});
  Array long_block({30});
  start.value = 18;
  execute(c, "fill_block_cyclic", {long_block, start});
  CHECK(long_block.data[2] == 20);
  CHECK(long_block.data[3] == 1);
  CHECK(long_block.data[22] == 20);
  CHECK(long_block.data[23] == 1);
  // The counter is single precision: 2^24 + 1 does not exist there.
  Array two({2});
  start.value = 16777216.0;
  execute(c, "fill_block_sequential", {two, start});
  CHECK(two.data == Values{16777216.0, 16777216.0});
  execute(c, "get_scratch_array_dummy", {a});
  CHECK(a.data == Values{1, 2, 3, 4, 5, 6});
  CHECK_THAT(execution_error(c, "fill_block_sequential", {a}), Contains("takes 2 arguments, found 1"));
  CHECK_THAT(execution_error(c, "fill_block_sequential", {start, a}), Contains("argument 1 must be a block"));
}

TEST_CASE("iteration tables") {
  FakeContext c;
  Scalar number{1.0}, energy{-0.5}, change{-0.5}, residual{0.0625};
  execute(c, "print_iteration", {number, energy, change, residual});
  number.value = 12;
  energy.value = -123.4567890123456;
  change.value = 3e-11;
  residual.value = 1.5e-9;
  execute(c, "print_iteration", {number, energy, change, residual});
  CHECK(c.output.str() ==
        " iteration                energy        change      residual\n"
        "         1       -0.500000000000     -5.00e-01      6.25e-02\n"
        "        12     -123.456789012346      3.00e-11      1.50e-09\n");
  residual.value = std::nan("");
  CHECK_THAT(execution_error(c, "print_iteration", {number, energy, change, residual}), Contains("no finite number"));
  CHECK_THAT(execution_error(c, "print_iteration", {number, energy, change}), Contains("takes 4 arguments, found 3"));
  CHECK_THAT(execution_error(c, "print_iteration", {number, energy, change, Array({2})}),
             Contains("argument 4 must be a scalar"));
}

TEST_CASE("prints and listings") {
  FakeContext c;
  Array a({2, 2}, {1, 2, 3, 4.5});
  execute(c, "print_block", {a});
  execute(c, "print_static_array", {a});
  std::string block = "x:\n1.00000000 2.00000000\n3.00000000 4.50000000\n";
  CHECK(c.output.str() == block + block);
  c.output.str("");
  execute(c, "list_block_map", {});
  execute(c, "list_blocks_with_number", {});
  execute(c, "get_and_print_mpi_rank", {});
  CHECK(c.output.str() == "LISTING CURRENT BLOCKS\na[1]\nLISTING CURRENT BLOCKS\na[1] 0\n3\n");
  execute(c, "enable_all_rank_print", {});
  CHECK(c.all_ranks_print);
  execute(c, "disable_all_rank_print", {});
  CHECK_FALSE(c.all_ranks_print);
}

TEST_CASE("super instructions without effect") {
  FakeContext c;
  Array a({2}, {1, 2});
  Scalar s{3}, t{4};
  execute(c, "one_arg_no_op", {a});
  execute(c, "enable_debug_print", {});
  execute(c, "disable_debug_print", {});
  execute(c, "set_flags2", {a});
  execute(c, "compute_int_scratchmem", {a, s, t});
  execute(c, "compute_int_scratchmem_lowmem", {a, s});
  CHECK(a.data == Values{1, 2});
  CHECK(s.value == 3);
  CHECK(t.value == 4);
  CHECK(c.output.str().empty());
}

TEST_CASE("elements, copies, data of the job") {
  FakeContext c;
  Array a({2}, {1, -7}), b({2}, {3, 4}), d({3});
  Scalar s;
  execute(c, "get_first_block_element", {a, s});
  CHECK(s.value == 1);
  Array target({2, 2}, {5, 6, 7, 8}), nothing({0});
  execute(c, "get_first_block_element", {b, target});
  CHECK(target.data == Values{3, 6, 7, 8});
  CHECK_THAT(execution_error(c, "get_first_block_element", {b, nothing}), Contains("no elements"));
  CHECK_THAT(execution_error(c, "get_first_block_element", {nothing, s}), Contains("no elements"));
  CHECK_THAT(execution_error(c, "get_first_block_element", {s, target}), Contains("must be a block"));
  CHECK_THAT(execution_error(c, "get_first_block_element", {a}), Contains("takes 2 arguments"));
  execute(c, "return_sval", {a, s});
  CHECK(s.value == -7);
  execute(c, "check_dconf", {a, s});
  CHECK(s.value == 7);
  a.data[0] = std::numeric_limits<double>::quiet_NaN();
  execute(c, "check_dconf", {a, s});
  CHECK(std::isnan(s.value));
  execute(c, "get_my_rank", {s});
  CHECK(s.value == 3);
  execute(c, "swap_blocks", {a, b});
  CHECK(a.data == Values{3, 4});
  CHECK(b.data[1] == -7);
  CHECK_THAT(execution_error(c, "swap_blocks", {a, d}), Contains("differ in shape"));

  CHECK_THAT(execution_error(c, "get_and_print_int_array_dummy", {a}), Contains("no array `int_array_data`"));
  c.data.int_arrays["int_array_data"] = {{8}, {1, 2, 3, 4, 5, 6, 7, 8}};
  c.data.arrays["scalar_array_data"] = {{2}, {1.5, 2.5}};
  execute(c, "get_and_print_int_array_dummy", {d});
  CHECK(d.data == Values{1, 2, 3});
  execute(c, "get_and_print_scalar_array_dummy", {d});
  CHECK(d.data == Values{1.5, 2.5, 3});

  Array placed({2, 2});
  placed.at(0, 3, 4).at(1, 2, 2);
  c.data.segments[IndexKind::moa] = {2, 2, 2};
  execute(c, "check_block_number_calculation", {placed});
}

TEST_CASE("a block from a text file") {
  FakeContext c;
  Array a({2, 3});
  a.arg.name = "sialx_test_block";
  a.at(0, 2, 4).at(1, 1, 0);
  const char* file = "sialx_test_block[2.1].txt";
  std::ofstream(file) << "5 1 1.5\n6 1 2.5\n5 3 -1\n";
  execute(c, "read_block_from_text_file", {a});
  CHECK(a.data == Values{1.5, 2.5, 0, 0, -1, 0});
  std::ofstream(file) << "5 1 1.5\n7 1 2.5\n";
  CHECK_THAT(execution_error(c, "read_block_from_text_file", {a}), Contains("line 2") && Contains("outside the block"));
  std::ofstream(file) << "5 1\n";
  CHECK_THAT(execution_error(c, "read_block_from_text_file", {a}), Contains("line 1"));
  std::filesystem::remove(file);
  CHECK_THAT(execution_error(c, "read_block_from_text_file", {a}), Contains("cannot read"));
}

TEST_CASE("diagonals") {
  FakeContext c;
  Array m({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), off({3, 3}, m.data);
  Scalar s;
  Array copy = m;
  execute(c, "return_diagonal_elements", {copy});
  CHECK(copy.data == Values{1, 0, 0, 0, 5, 0, 0, 0, 9});
  copy = m;
  execute(c, "return_diagonal", {copy, s});
  CHECK(copy.data == Values{1, 0, 0, 0, 5, 0, 0, 0, 9});
  CHECK(s.value == 15);
  copy = m;
  execute(c, "remove_diagonal", {copy});
  CHECK(copy.data == Values{0, 2, 3, 4, 0, 6, 7, 8, 0});
  off.at(0, 2, 3);
  execute(c, "remove_diagonal", {off});
  CHECK(off.data == m.data);

  Array t({2, 2, 2, 2});
  std::iota(t.data.begin(), t.data.end(), 1.0);
  Array kept = t, traced = t;
  execute(c, "return_diagonal_elements", {kept});
  CHECK(kept.data == Values{1, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 13, 0, 0, 16});
  execute(c, "return_diagonal", {traced, s});
  CHECK(s.value == 1 + 4 + 13 + 16);
  CHECK(traced.data == Values{1, 2, 3, 4, 5, 0, 0, 8, 9, 0, 0, 12, 13, 14, 15, 16});
  Array odd({2, 3});
  CHECK_THAT(execution_error(c, "return_diagonal_elements", {odd}), Contains("not square"));
}

TEST_CASE("element-wise division") {
  FakeContext c;
  Array t({3}, {6, 5, 4}), d({3}, {2, 0, -4});
  // invert_diagonal takes any rank; zero divisors leave the element.
  execute(c, "invert_diagonal", {t, d});
  CHECK(t.data == Values{3, 5, -1});
  // [k,a,i,b,j]: only a != b and i != j survive.
  Array t5({1, 2, 1, 2, 1}, {8, 8, 8, 8}), d5({1, 2, 1, 2, 1}, {2, 2, 2, 2});
  t5.simple(0, 1).at(2, 1, 0).at(4, 2, 1);
  execute(c, "invert_diagonal_asym", {t5, d5});
  CHECK(t5.data == Values{0, 4, 4, 0});
  Array same({1, 2, 1, 2, 1}, {8, 8, 8, 8});
  execute(c, "invert_diagonal_asym", {same, d5});
  CHECK(same.data == Values{0, 0, 0, 0});
  // A divisor of rounding leaves what its quotient has no number for; what was not finite before stays that.
  Array noise({3}, {6, HUGE_VAL, 1e-300}), tiny({3}, {1e-310, 2, 1e-310});
  execute(c, "invert_diagonal", {noise, tiny});
  CHECK(noise.data[0] == 6);
  CHECK(noise.data[1] == HUGE_VAL);
  CHECK(noise.data[2] == Approx(1e10));
  Array strange({1}, {6}), no_number({1}, {std::nan("")});
  execute(c, "invert_diagonal", {strange, no_number});
  CHECK(std::isnan(strange.data[0]));
}

TEST_CASE("slices by a simple index") {
  FakeContext c;
  Array x({2, 3}, {1, 2, 3, 4, 5, 6}), y({2, 1});
  x.at(1, 2, 4);
  y.simple(1, 6);
  execute(c, "stripi", {x, y});
  CHECK(y.data == Values{3, 4});
  y.simple(1, 8);
  CHECK_THAT(execution_error(c, "stripi", {x, y}), Contains("orbital 8 is not in") && Contains("5 to 7"));
  Array z({3, 1});
  z.simple(1, 6);
  CHECK_THAT(execution_error(c, "stripi", {x, z}), Contains("dimension 1"));
}

TEST_CASE("occupations scale columns") {
  FakeContext c;
  Array m({2, 2}, {1, 2, 3, 4}), occupation({4}, {9, 9, 1, 0});
  Scalar flag;
  m.at(1, 2, 2);
  execute(c, "a4_dscale", {m, occupation, flag});
  CHECK(m.data == Values{1, 2, 0, 0});
  m.at(1, 2, 3);
  CHECK_THAT(execution_error(c, "a4_dscale", {m, occupation, flag}), Contains("orbital 5 is needed"));
}

TEST_CASE("energy denominators") {
  FakeContext c;
  // Occupied -2, -1; virtual 1, 2, 4.
  Values e{-2, -1, 1, 2, 4};
  Array vector({5}, e), fock({5, 5});
  for (int i = 0; i < 5; ++i) fock.data[i * 6] = e[i];
  vector.whole();
  fock.whole();
  Array t({2, 2}, {1, 1, 1, 1});  // virtuals 2, 4 (numbers 4, 5), occupied -2, -1
  t.at(0, 4, 3);
  Array copy = t;
  execute(c, "energy_denominator_rhf", {t, fock});
  CHECK(t.data == Values{1 / -4.0, 1 / -6.0, 1 / -3.0, 1 / -5.0});
  execute(c, "energy_denominator_rhf", {copy, vector});
  CHECK(copy.data == t.data);
  execute(c, "energy_numerator_rhf", {copy, vector});
  CHECK(copy.data == Values{1, 1, 1, 1});
  Scalar omega{-1};
  execute(c, "energy_ty_denominator_rhf", {copy, vector, omega});
  CHECK(copy.data == Values{1 / -5.0, 1 / -7.0, 1 / -4.0, 1 / -6.0});

  Array t4({1, 2, 1, 2}, {1, 1, 1, 1});  // a = 1; i = -2,-1; b = 4; j = -2,-1
  t4.at(0, 3, 2).at(2, 5, 4);
  execute(c, "energy_denominator_rhf", {t4, fock});
  CHECK(t4.data == Values{1 / -9.0, 1 / -8.0, 1 / -8.0, 1 / -7.0});

  // Rank 6: a simple index carries an orbital number, a true segment of extent 1 its offset.
  Array t6({1, 1, 1, 1, 1, 2}, {1, 1});
  t6.at(0, 3, 2).simple(1, 2).at(2, 4, 3).simple(3, 1).at(4, 5, 4);
  execute(c, "energy_denominator_rhf", {t6, fock});
  CHECK(t6.data[0] == Approx(1 / (-1.0 - 2.0 - 2.0 - 1.0 - 2.0 - 4.0)));
  CHECK(t6.data[1] == Approx(1 / (-1.0 - 2.0 - 1.0 - 1.0 - 2.0 - 4.0)));

  // Rank 8: one more pair.
  Array t8({1, 1, 1, 1, 1, 1, 1, 2}, {1, 1});
  t8.at(0, 3, 2).simple(1, 2).at(2, 4, 3).simple(3, 1).at(4, 5, 4).simple(5, 1).at(6, 3, 2).at(7, 1, 0);
  execute(c, "energy_denominator_rhf", {t8, fock});
  CHECK(t8.data[0] == Approx(1 / (-1.0 - 2.0 - 2.0 - 1.0 - 2.0 - 4.0 - 2.0 - 1.0)));
  CHECK(t8.data[1] == Approx(1 / (-1.0 - 2.0 - 2.0 - 1.0 - 2.0 - 4.0 - 1.0 - 1.0)));

  // A Fock matrix over a later range of segments (frozen core): its first row is orbital 2.
  Array active({4, 4});
  for (int i = 0; i < 4; ++i) active.data[i * 5] = e[i + 1];
  active.whole().arg.offset = {1, 1};
  Array small({1, 1}, {1});
  small.at(0, 3, 2).at(1, 2, 1);
  execute(c, "energy_denominator_rhf", {small, active});
  CHECK(small.data[0] == 1 / (-1.0 - 1.0));
  small.at(1, 1, 0);
  CHECK_THAT(execution_error(c, "energy_denominator_rhf", {small, active}),
             Contains("orbital 1") && Contains("2 to 5"));
  Array odd({2, 2, 2});
  CHECK_THAT(execution_error(c, "energy_denominator_rhf", {odd, fock}), Contains("rank 2, 4, 6 or 8"));
  Array zero_fock({5, 5}), ones({1, 1}, {1});
  ones.at(0, 3, 2);
  CHECK_THAT(execution_error(c, "energy_denominator_rhf", {ones, zero_fock}), Contains("is zero"));
  // Elements that are zero may have a difference of zero; their neighbours in the line are divided.
  Array levels({4}, {1, -1, 1, 5});
  levels.whole();
  Array line({2, 2}, {0, 6, 8, 12});  // a = 1, -1; i = 1, 5
  line.at(0, 1, 0).at(1, 2, 2);
  execute(c, "energy_denominator_rhf", {line, levels});
  CHECK(line.data == Values{0, 3, 2, 2});
  CHECK_THAT(execution_error(c, "energy_denominator_rhf", {Array({2, 1}, {1, 1}).at(0, 1, 0).at(1, 2, 2), levels}),
             Contains("is zero"));
}

TEST_CASE("energy denominators of two spins") {
  FakeContext c;
  Array alpha({3}, {-2, 1, 2}), beta({3}, {-5, -1, 7});  // one alpha orbital is occupied, two beta ones
  alpha.whole();
  beta.whole();
  Array t({2, 1, 1, 2}, {1, 1, 1, 1});  // a = 1, 2; i = -2; b = 7; j = -5, -1
  t.at(0, 2, 1).at(1, 1, 0).at(2, 2, 2).at(3, 1, 0);
  t.arg.kind = {IndexKind::moa, IndexKind::moa, IndexKind::mob, IndexKind::mob};
  execute(c, "energy_denominator_uhf", {t, alpha, beta});
  CHECK(t.data == Values{1 / (-2.0 - 5.0 - 1.0 - 7.0), 1 / (-2.0 - 5.0 - 2.0 - 7.0), 1 / (-2.0 - 1.0 - 1.0 - 7.0),
                         1 / (-2.0 - 1.0 - 2.0 - 7.0)});
  Array outside({1, 1}, {1});
  outside.at(0, 4, 3).at(1, 1, 0);
  outside.arg.kind = {IndexKind::mob, IndexKind::mob};
  CHECK_THAT(execution_error(c, "energy_denominator_uhf", {outside, alpha, beta}),
             Contains("orbital 4") && Contains("1 to 3"));
}
