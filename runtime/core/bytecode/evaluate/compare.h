#pragma once
// The comparison of two ints or two scalars by a Relop: the one meaning that the interpreter and look-ahead share.

#include <cstdint>

#include "runtime/core/bytecode/module.h"

namespace sial {

template <class T>
bool compare(T x, T y, std::int32_t relop) {
  switch (static_cast<Relop>(relop)) {
    case Relop::lt: return x < y;
    case Relop::le: return x <= y;
    case Relop::gt: return x > y;
    case Relop::ge: return x >= y;
    case Relop::eq: return x == y;
    case Relop::ne: return x != y;
  }
  return false;
}

}  // namespace sial
