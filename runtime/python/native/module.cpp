// compile() and run() of in_process.h for Python. The functions are called by the package beside (runtime/python/sialx/
// in_process.py), which checks and converts what users give.

#include <cstring>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "runtime/python/native/in_process.h"
#include "runtime/python/native/module.h"

namespace sial {
namespace {

/// Python has an exception set, which the caller of the module is to see.
struct PythonError {};

class Reference {
 public:
  explicit Reference(PyObject* object) : object_(object) {
    if (!object) throw PythonError{};
  }
  ~Reference() { Py_XDECREF(object_); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_;
};

/// Other threads of Python go on while this is in scope.
class OthersRun {
 public:
  OthersRun() : state_(PyEval_SaveThread()) {}
  ~OthersRun() { PyEval_RestoreThread(state_); }
  OthersRun(const OthersRun&) = delete;
  OthersRun& operator=(const OthersRun&) = delete;

 private:
  PyThreadState* state_;
};

/// A call of Python from within OthersRun.
class CallsPython {
 public:
  CallsPython() : state_(PyGILState_Ensure()) {}
  ~CallsPython() { PyGILState_Release(state_); }
  CallsPython(const CallsPython&) = delete;
  CallsPython& operator=(const CallsPython&) = delete;

 private:
  PyGILState_STATE state_;
};

class Buffer {
 public:
  explicit Buffer(PyObject* object) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) != 0) throw PythonError{};
  }
  ~Buffer() { PyBuffer_Release(&view_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  const void* data() const { return view_.buf; }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

/// Numbers that Python owns, and exports as a buffer that may be written.
struct Numbers {
  PyObject head;
  std::vector<double> data;
};

int get_buffer(PyObject* object, Py_buffer* view, int flags) {
  std::vector<double>& data = reinterpret_cast<Numbers*>(object)->data;
  static double nothing = 0;
  return PyBuffer_FillInfo(view, object, data.empty() ? &nothing : data.data(),
                           static_cast<Py_ssize_t>(data.size() * sizeof(double)), 0, flags);
}

void free_numbers(PyObject* object) {
  PyTypeObject* const type = Py_TYPE(object);
  std::destroy_at(&reinterpret_cast<Numbers*>(object)->data);
  PyObject_Free(object);
  Py_DECREF(type);
}

PyObject* numbers_type() {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(free_numbers)},
                                {0, nullptr}};
  static PyType_Spec spec = {"sialx._native.Numbers", sizeof(Numbers), 0, Py_TPFLAGS_DEFAULT, slots};
  static PyObject* const type = PyType_FromSpec(&spec);
  if (!type) throw PythonError{};
  return type;
}

PyObject* to_python(std::vector<double>&& data) {
  PyObject* const type = numbers_type();
  Reference object(
      PyObject_Init(static_cast<PyObject*>(PyObject_Malloc(sizeof(Numbers))), reinterpret_cast<PyTypeObject*>(type)));
  std::construct_at(&reinterpret_cast<Numbers*>(object.get())->data, std::move(data));
  return object.release();
}

std::string text_of(PyObject* object) {
  Py_ssize_t n = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &n);
  if (!text) throw PythonError{};
  return {text, static_cast<std::size_t>(n)};
}

/// Bytes that are no UTF-8 become signs of their own: programs may print any.
PyObject* to_python(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
}
PyObject* to_python(double value) { return PyFloat_FromDouble(value); }
PyObject* to_python(std::int32_t value) { return PyLong_FromLong(value); }
PyObject* to_python(std::span<const std::int64_t> numbers) {
  Reference tuple(PyTuple_New(std::ssize(numbers)));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), Reference(PyLong_FromLongLong(numbers[i])).release());
  return tuple.release();
}
/// (extents, values), in the order of the program; the values become Python's, uncopied.
PyObject* to_python(DataArray& array) {
  const Reference extents(to_python(std::span<const std::int64_t>(array.extents)));
  const Reference values(to_python(std::move(array.data)));
  return PyTuple_Pack(2, extents.get(), values.get());
}
/// (first, (extents, values))
PyObject* to_python(SavedPart& part) {
  const Reference first(to_python(std::span<const std::int64_t>(part.first))), values(to_python(part.values));
  return PyTuple_Pack(2, first.get(), values.get());
}
template <class T>
PyObject* to_python(std::vector<T>& items) {
  Reference list(PyList_New(std::ssize(items)));
  for (std::size_t i = 0; i < items.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Reference(to_python(items[i])).release());
  return list.release();
}
template <class T>
PyObject* to_python(std::map<std::string, T>& items) {
  Reference dict(PyDict_New());
  for (auto& [name, value] : items) {
    const Reference key(to_python(name)), item(to_python(value));
    if (PyDict_SetItem(dict.get(), key.get(), item.get()) != 0) throw PythonError{};
  }
  return dict.release();
}

/// Calls `body` with each item of a sequence.
template <class Body>
void for_each(PyObject* sequence, Body body) {
  const Reference items(PySequence_Fast(sequence, "a list is expected"));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.get());
  for (Py_ssize_t i = 0; i < n; ++i) body(PySequence_Fast_GET_ITEM(items.get(), i));
}

std::vector<std::string> texts_of(PyObject* sequence) {
  std::vector<std::string> texts;
  for_each(sequence, [&](PyObject* item) { texts.push_back(text_of(item)); });
  return texts;
}

std::vector<std::byte> bytes_of(PyObject* buffer) {
  const Buffer bytes(buffer);
  const auto* begin = static_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

InProcessProgram program_of(PyObject* item) {
  PyObject *name = nullptr, *module = nullptr;
  if (!PyArg_ParseTuple(item, "UO", &name, &module)) throw PythonError{};
  return {text_of(name), std::make_shared<const std::vector<std::byte>>(bytes_of(module))};
}

/// A function of Python that gives a part of an array as a buffer of doubles. It is there while the run is.
FillPart fill_of(PyObject* function) {
  return [function](std::span<const std::int64_t> first, std::span<const std::int64_t> count, double* out) {
    const CallsPython python;
    const Reference begin(to_python(first)), extents(to_python(count));
    const Reference values(PyObject_CallFunctionObjArgs(function, begin.get(), extents.get(), nullptr));
    const Buffer bytes(values.get());
    std::memcpy(out, bytes.data(), bytes.size());
  };
}

/// (name, extents, buffer of doubles in the order of the program, or what fill_of() takes)
std::pair<std::string, DataArray> array_of(PyObject* item) {
  PyObject *name = nullptr, *extents = nullptr, *data = nullptr;
  if (!PyArg_ParseTuple(item, "UOO", &name, &extents, &data)) throw PythonError{};
  DataArray array;
  for_each(extents, [&](PyObject* extent) {
    array.extents.push_back(PyLong_AsLongLong(extent));
    if (PyErr_Occurred()) throw PythonError{};
  });
  const std::string key = text_of(name);
  array.origin = fmt::format("arrays[\"{}\"]", key);
  array.in_program_order = true;
  if (PyCallable_Check(data)) {
    array.fill = fill_of(data);
    return {key, std::move(array)};
  }
  const Buffer bytes(data);
  array.data.resize(bytes.size() / sizeof(double));
  if (!array.data.empty()) std::memcpy(array.data.data(), bytes.data(), array.data.size() * sizeof(double));
  return {key, std::move(array)};
}

/// Nothing that is thrown passes into Python.
template <class Body>
PyObject* guarded(Body body) {
  try {
    return body();
  } catch (const PythonError&) { return nullptr; } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyObject* compile(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *name = nullptr, *text = nullptr, *include = nullptr, *saved = nullptr;
    int optimisation = 0;
    if (!PyArg_ParseTuple(arguments, "UOOiO", &name, &text, &include, &optimisation, &saved)) return nullptr;
    std::optional<std::string> source;
    if (text != Py_None) source = text_of(text);
    const std::string path = text_of(name);
    const std::vector<std::string> folders = texts_of(include), saved_arrays = texts_of(saved);
    CompiledProgram program;
    {
      const OthersRun others;
      program = compile_in_process(path, source, folders, optimisation, saved_arrays);
    }
    const Reference module(
        PyBytes_FromStringAndSize(reinterpret_cast<const char*>(program.module.data()), std::ssize(program.module)));
    const Reference said(to_python(program.text)), diagnostics(to_python(program.diagnostics)),
        files(to_python(program.files));
    return PyTuple_Pack(4, module.get(), said.get(), diagnostics.get(), files.get());
  });
}

PyObject* run(PyObject*, PyObject* arguments) {
  return guarded([&]() -> PyObject* {
    PyObject *programs = nullptr, *values = nullptr, *segments = nullptr, *arrays = nullptr, *memory = nullptr,
             *write = nullptr, *progress = nullptr, *saved = nullptr, *recompile = nullptr;
    int communicator = 0;
    if (!PyArg_ParseTuple(arguments, "OOOOUOOOOi", &programs, &values, &segments, &arrays, &memory, &write, &progress,
                          &saved, &recompile, &communicator))
      return nullptr;
    InProcessJob job;
    for_each(programs, [&](PyObject* item) { job.programs.push_back(program_of(item)); });
    job.values = texts_of(values);
    job.segments = texts_of(segments);
    for_each(arrays, [&](PyObject* item) { job.arrays.insert(array_of(item)); });
    job.memory = text_of(memory);
    job.saved_arrays = texts_of(saved);
    job.compile_saving = [&](const std::string& name, std::vector<std::string> names) {
      const CallsPython python;
      const Reference program(to_python(name)), arrays_of_program(to_python(names));
      const Reference module(PyObject_CallFunctionObjArgs(recompile, program.get(), arrays_of_program.get(), nullptr));
      return bytes_of(module.get());
    };
    if (progress != Py_None)
      job.tell_progress = [&](const ProgressState& state) {
        const CallsPython python;
        const Reference what(to_python(std::string(state.what)));
        const Reference answer(
            PyObject_CallFunction(progress, "Oddd", what.get(), state.fraction, state.elapsed, state.left));
      };
    job.connect = connection_of(communicator);
    std::string printed;
    job.write = [&](std::string_view text) {
      if (write == Py_None) {
        printed += text;
        return;
      }
      const CallsPython python;
      const Reference argument(to_python(std::string(text)));
      const Reference answer(PyObject_CallOneArg(write, argument.get()));
    };
    job.between_statements = [] {
      const CallsPython python;
      if (PyErr_CheckSignals() != 0) throw PythonError{};
    };
    InProcessResults results;
    {
      const OthersRun others;
      results = run_in_process(job);
    }
    const Reference code(PyLong_FromLong(results.code)), messages(to_python(results.messages)),
        output(to_python(printed)), scalars(to_python(results.scalars)), ints(to_python(results.ints)),
        statics(to_python(results.statics)), saved_scalars(to_python(results.saved_scalars)),
        saved_arrays(to_python(results.saved_arrays)), parts(to_python(results.parts));
    return PyTuple_Pack(9, code.get(), messages.get(), output.get(), scalars.get(), ints.get(), statics.get(),
                        saved_scalars.get(), saved_arrays.get(), parts.get());
  });
}

PyObject* rest(PyObject*, PyObject*) {
  return guarded([] {
    {
      const OthersRun others;
      drop_generated_code();
    }
    return Py_NewRef(Py_None);
  });
}

PyObject* mpi(PyObject*, PyObject*) {
  return guarded([] { return to_python(name_of_ranks()); });
}

PyMethodDef methods[] = {
    {"compile", compile, METH_VARARGS,
     "compile(name, text or None, include, optimisation, saved) -> (module, text, diagnostics, files)"},
    {"run", run, METH_VARARGS,
     "run(programs, values, segments, arrays, memory, write or None, progress or None, saved, recompile, "
     "communicator) -> (code, messages, output, scalars, ints, statics, saved_scalars, saved_arrays, parts)"},
    {"mpi", mpi, METH_NOARGS, "The name and version of the MPI that communicators are of."},
    {"rest", rest, METH_NOARGS, "Ends what is kept between runs, before a fork; later runs make it again."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* make_module(const char* name) {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   name,
                                   "SIAL programs inside this process; see sialx.run.",
                                   -1,
                                   methods,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  return PyModule_Create(&definition);
}

}  // namespace sial
