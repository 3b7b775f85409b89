// Two super instructions of one's own, as a plugin:
//
//   c++ -std=c++17 -O2 -fPIC -shared -I PREFIX/include my_instructions.cpp -o my_instructions.so
//
// with PREFIX the place sialx was installed to (from the source tree: -I runtime/core/super/include).

#include <cmath>

#include <sialx/plugin.h>

namespace {

// block_norm x[...] norm: the Frobenius norm of a block of any rank.
void block_norm(sialx::Context&, sialx::Arguments args) {
  args.expect(2);
  double sum = 0.0;
  for (double x : args[0]) sum += x * x;
  args[1].scalar() = std::sqrt(sum);
}

// nuclear_potential x y z potential: what the nuclei of the job's molecule make at a point (bohr, hartree).
void nuclear_potential(sialx::Context& context, sialx::Arguments args) {
  args.expect(4);
  double potential = 0.0;
  for (const sialx::Atom& atom : context.atoms()) {
    double squared = 0.0;
    for (int k = 0; k < 3; ++k) squared += std::pow(atom.position[k] - args[k].scalar(), 2);
    if (squared == 0.0) throw sialx::Error("the point lies on a nucleus", "move it by a little");
    potential += atom.charge / std::sqrt(squared);
  }
  args[3].scalar() = potential;
}

}  // namespace

SIALX_PLUGIN("my_instructions",
             sialx::instruction<block_norm>("block_norm", "rw", "scalar := Frobenius norm of a block"),
             sialx::instruction<nuclear_potential>("nuclear_potential", "rrrw",
                                                   "scalar := potential of the nuclei at a point"))
