/* Super instructions of your own for sialrun, in a shared library: `sialrun --plugin my.so`. This one header is all a
   plugin needs. Below is a C interface of fixed layout, checked by its version; for C++ (17 or later) a thin layer over
   it follows, and a plugin written with that looks like this:

     #include <sialx/plugin.h>

     void block_sum(sialx::Context&, sialx::Arguments args) {
       args.expect(2);
       double sum = 0.0;
       for (double x : args[0]) sum += x;
       args[1].scalar() = sum;
     }

     SIALX_PLUGIN("sums", sialx::instruction<block_sum>("block_sum", "rw", "scalar := sum of all elements of a block"))

   built by  c++ -std=c++17 -O2 -fPIC -shared -I PREFIX/include my.cpp -o my.so  and used in a program by

     special block_sum rw
     execute block_sum x[i,j] total

   A body runs on whichever rank reaches the statement, sees its arguments and the job's data, and talks to no other
   rank. Arguments the program declares `w` arrive filled with zeros; those declared `r` must not be written. Pointers
   are good until the body returns. */
#ifndef SIALX_PLUGIN_H
#define SIALX_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Later versions only append to sialx_host: a plugin of version n runs in every sialrun that knows n or more, if the
   layout of sialx_argument is the same. Version 1 had arguments of at most six dimensions; such plugins must be
   compiled again. */
#define SIALX_PLUGIN_VERSION 2
#define SIALX_MAX_RANK 8

/* Kinds of indices. */
enum {
  SIALX_AO = 1001,
  SIALX_MO = 1002,
  SIALX_MOA = 1003,
  SIALX_MOB = 1004,
  SIALX_SIMPLE = 1005,
  SIALX_LA = 1006,
  SIALX_SUB = 1007
};

typedef struct sialx_argument {
  const char* name; /* of the array or scalar; "" for a number written in the statement */
  double* data;     /* column-major, first dimension fastest */
  int64_t size;     /* number of elements */
  int64_t extent[SIALX_MAX_RANK];
  int64_t offset[SIALX_MAX_RANK];  /* elements of the index kind before this block's first: orbital or function number
                                      from 0 */
  int32_t segment[SIALX_MAX_RANK]; /* segment number, or the value of a simple index; 0 for whole arrays */
  int32_t kind[SIALX_MAX_RANK];    /* SIALX_AO ... */
  int32_t rank;                    /* number of dimensions; 0 for scalars */
  int32_t is_scalar;
  int32_t is_whole_array;
  int32_t letter; /* 'r', 'w' or 'u', as the program declares it */
} sialx_argument;

/* What the host offers a body. The functions take the host itself as their first argument. Names are lower case. */
typedef struct sialx_host sialx_host;
struct sialx_host {
  uint32_t version;
  void* state;
  int32_t (*rank)(const sialx_host*);
  int32_t (*size)(const sialx_host*); /* number of ranks */
  void (*print)(const sialx_host*, const char* text,
                size_t length); /* rank 0 prints, the others when the program says so */
  void (*fail)(const sialx_host*, const char* message,
               const char* hint); /* says why the body returns another value than 0 */
  int32_t (*find_int)(const sialx_host*, const char* name, int32_t* value); /* predefined; 1 if it exists, else 0 */
  int32_t (*find_scalar)(const sialx_host*, const char* name,
                         double* value); /* the running program's, else predefined */
  /* Arrays of the job; NULL if there is none. `extent` has room for SIALX_MAX_RANK entries. */
  const double* (*find_array)(const sialx_host*, const char* name, int32_t* rank, int64_t* extent);
  const int32_t* (*find_int_array)(const sialx_host*, const char* name, int32_t* rank, int64_t* extent);
  /* A static (or contiguous local) array of the running program as a whole; 1 if it exists, else 0. */
  int32_t (*find_program_array)(const sialx_host*, const char* name, sialx_argument* result);
  const int32_t* (*segments)(const sialx_host*, int32_t kind, int64_t* count); /* extents of the segments of a kind */
  int32_t (*atom_count)(const sialx_host*);                                    /* 0 without a molecule */
  void (*atom)(const sialx_host*, int32_t number, double* charge,
               double* position); /* number from 0; position in bohr */
  /* Data kept on this rank until the job ends: made at the first call with this key, then found again. */
  void* (*keep)(const sialx_host*, const char* key, void* (*make)(void), void (*destroy)(void*));
};

typedef int32_t (*sialx_body)(const sialx_host*, sialx_argument* arguments, int32_t count); /* 0: done */

typedef struct sialx_instruction {
  const char* name;       /* lower case, as in `special NAME` */
  const char* signatures; /* letter strings programs may declare, blank separated; "-" for no arguments */
  const char* meaning;    /* one line */
  sialx_body body;
} sialx_instruction;

typedef struct sialx_plugin {
  uint32_t version; /* SIALX_PLUGIN_VERSION; stays the first member for ever */
  int32_t count;
  const char* name;
  const sialx_instruction* instructions;
} sialx_plugin;

/* The one symbol a plugin exports. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const sialx_plugin*
sialx_plugin_entry(void);

#ifdef __cplusplus
}  // extern "C"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace sialx {

/// Thrown by a body: ends the job with this message, which the host completes with the place in the program.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {})
      : std::runtime_error(message), hint_(std::move(hint)) {}
  const std::string& hint() const { return hint_; }

 private:
  std::string hint_;
};

/// One argument; a range of its elements.
class Argument : public sialx_argument {
 public:
  double* begin() const { return data; }
  double* end() const { return data + size; }
  double& operator[](std::int64_t element) const { return data[element]; }
  double& operator()(std::int64_t i, std::int64_t j) const { return data[i + extent[0] * j]; }
  double& operator()(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return data[i + extent[0] * (j + extent[1] * (k + extent[2] * l))];
  }
  /// The value of a scalar or of a block with one element.
  double& scalar() const {
    if (size != 1)
      throw Error("`" + std::string(name) + "` must be a scalar, it has " + std::to_string(size) + " elements");
    return *data;
  }
  /// Number of an element over the whole molecule, from 0; for a simple index its value, less 1.
  std::int64_t number(int dimension, std::int64_t position) const {
    return kind[dimension] == SIALX_SIMPLE && !is_whole_array ? segment[dimension] - 1 : offset[dimension] + position;
  }
  void expect_rank(int wanted) const {
    if (rank != wanted)
      throw Error("`" + std::string(name) + "` must have " + std::to_string(wanted) + " dimensions, it has " +
                  std::to_string(rank));
  }
};
static_assert(sizeof(Argument) == sizeof(sialx_argument), "an Argument is the C structure with functions");

class Arguments {
 public:
  Arguments(Argument* first, int count) : first_(first), count_(count) {}
  int size() const { return count_; }
  Argument& operator[](int i) const { return first_[i]; }
  void expect(int count) const {
    if (count != count_) throw Error("takes " + std::to_string(count) + " arguments, found " + std::to_string(count_));
  }

 private:
  Argument* first_;
  int count_;
};

/// An array of the job, owned by the host.
template <class Element>
struct ArrayView {
  const Element* data = nullptr;  // nullptr: the job has none of this name
  std::vector<std::int64_t> extents;
  explicit operator bool() const { return data != nullptr; }
};

struct Atom {
  double charge = 0.0;
  double position[3] = {};
};

class Context {
 public:
  explicit Context(const sialx_host* host) : host_(host) {}
  int rank() const { return host_->rank(host_); }
  int size() const { return host_->size(host_); }
  void print(const std::string& text) const { host_->print(host_, text.data(), text.size()); }
  bool find_int(const char* name, std::int32_t& value) const { return host_->find_int(host_, name, &value) != 0; }
  bool find_scalar(const char* name, double& value) const { return host_->find_scalar(host_, name, &value) != 0; }
  ArrayView<double> array(const char* name) const { return view(name, host_->find_array); }
  ArrayView<std::int32_t> int_array(const char* name) const { return view(name, host_->find_int_array); }
  bool find_program_array(const char* name, Argument& result) const {
    return host_->find_program_array(host_, name, &result) != 0;
  }
  std::vector<std::int32_t> segments(int kind) const {
    std::int64_t count = 0;
    const std::int32_t* extents = host_->segments(host_, kind, &count);
    return std::vector<std::int32_t>(extents, extents + count);
  }
  std::vector<Atom> atoms() const {
    std::vector<Atom> result(static_cast<std::size_t>(host_->atom_count(host_)));
    for (std::size_t i = 0; i < result.size(); ++i)
      host_->atom(host_, static_cast<std::int32_t>(i), &result[i].charge, result[i].position);
    return result;
  }
  /// This rank's object of that type, kept until the job ends; the key is yours, for instance "sums.table".
  template <class T>
  T& keep(const char* key) const {
    return *static_cast<T*>(
        host_->keep(host_, key, []() -> void* { return new T(); }, [](void* p) { delete static_cast<T*>(p); }));
  }

 private:
  template <class Element>
  ArrayView<Element> view(const char* name,
                          const Element* (*find)(const sialx_host*, const char*, std::int32_t*, std::int64_t*)) const {
    std::int32_t rank = 0;
    std::int64_t extent[SIALX_MAX_RANK] = {};
    ArrayView<Element> result;
    result.data = find(host_, name, &rank, extent);
    if (result.data) result.extents.assign(extent, extent + rank);
    return result;
  }
  const sialx_host* host_;
};

using Body = void (*)(Context&, Arguments);

namespace detail {
template <Body body>
std::int32_t call(const sialx_host* host, sialx_argument* arguments, std::int32_t count) {
  try {
    Context context(host);
    body(context, Arguments(static_cast<Argument*>(arguments), count));
    return 0;
  } catch (const Error& error) {
    host->fail(host, error.what(), error.hint().c_str());
  } catch (const std::exception& error) { host->fail(host, error.what(), ""); } catch (...) {
    host->fail(host, "an exception of unknown type", "");
  }
  return 1;
}
}  // namespace detail

/// A row of SIALX_PLUGIN.
template <Body body>
constexpr sialx_instruction instruction(const char* name, const char* signatures, const char* meaning) {
  return {name, signatures, meaning, detail::call<body>};
}

}  // namespace sialx

#define SIALX_PLUGIN(plugin_name, ...)                                                                                 \
  extern "C" const sialx_plugin* sialx_plugin_entry(void) {                                                            \
    static const sialx_instruction rows[] = {__VA_ARGS__};                                                             \
    static const sialx_plugin plugin = {SIALX_PLUGIN_VERSION, static_cast<std::int32_t>(sizeof(rows) / sizeof(*rows)), \
                                        plugin_name, rows};                                                            \
    return &plugin;                                                                                                    \
  }

#endif /* __cplusplus */
#endif
