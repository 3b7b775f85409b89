// The module sialx._native: compile() and run() of in_process.h for Python. Its functions are called by the package
// beside it (runtime/python/sialx/in_process.py), which checks and converts what users give.

#include <Python.h>

#include <cstring>
#include <exception>
#include <new>

#include "runtime/python/native/in_process.h"

namespace {

using namespace sial;

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
PyObject* to_python(const std::vector<std::string>& texts) {
  Reference list(PyList_New(static_cast<Py_ssize_t>(texts.size())));
  for (std::size_t i = 0; i < texts.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Reference(to_python(texts[i])).release());
  return list.release();
}
/// (extents, bytes), in the order of the program.
PyObject* to_python(const DataArray& array) {
  Reference extents(PyTuple_New(std::ssize(array.extents)));
  for (std::size_t d = 0; d < array.extents.size(); ++d)
    PyTuple_SET_ITEM(extents.get(), static_cast<Py_ssize_t>(d),
                     Reference(PyLong_FromLongLong(array.extents[d])).release());
  const Reference bytes(PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(array.data.data()),
                                                      static_cast<Py_ssize_t>(array.data.size() * sizeof(double))));
  return PyTuple_Pack(2, extents.get(), bytes.get());
}
template <class T>
PyObject* to_python(const std::map<std::string, T>& items) {
  Reference dict(PyDict_New());
  for (const auto& [name, value] : items) {
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

InProcessProgram program_of(PyObject* item) {
  PyObject *name = nullptr, *module = nullptr;
  if (!PyArg_ParseTuple(item, "UO", &name, &module)) throw PythonError{};
  const Buffer bytes(module);
  const auto* begin = static_cast<const std::byte*>(bytes.data());
  return {text_of(name), std::make_shared<const std::vector<std::byte>>(begin, begin + bytes.size())};
}

/// (name, extents, buffer of doubles in the order of the program)
std::pair<std::string, DataArray> array_of(PyObject* item) {
  PyObject *name = nullptr, *extents = nullptr, *data = nullptr;
  if (!PyArg_ParseTuple(item, "UOO", &name, &extents, &data)) throw PythonError{};
  DataArray array;
  for_each(extents, [&](PyObject* extent) {
    array.extents.push_back(PyLong_AsLongLong(extent));
    if (PyErr_Occurred()) throw PythonError{};
  });
  const Buffer bytes(data);
  array.data.resize(bytes.size() / sizeof(double));
  if (!array.data.empty()) std::memcpy(array.data.data(), bytes.data(), array.data.size() * sizeof(double));
  array.origin = "arrays";
  return {text_of(name), std::move(array)};
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
    PyObject *name = nullptr, *text = nullptr, *include = nullptr;
    int optimisation = 0;
    if (!PyArg_ParseTuple(arguments, "UOOi", &name, &text, &include, &optimisation)) return nullptr;
    std::optional<std::string> source;
    if (text != Py_None) source = text_of(text);
    const std::string path = text_of(name);
    const std::vector<std::string> folders = texts_of(include);
    CompiledProgram program;
    {
      const OthersRun others;
      program = compile_in_process(path, source, folders, optimisation);
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
             *write = nullptr;
    if (!PyArg_ParseTuple(arguments, "OOOOUO", &programs, &values, &segments, &arrays, &memory, &write)) return nullptr;
    InProcessJob job;
    for_each(programs, [&](PyObject* item) { job.programs.push_back(program_of(item)); });
    job.values = texts_of(values);
    job.segments = texts_of(segments);
    for_each(arrays, [&](PyObject* item) { job.arrays.insert(array_of(item)); });
    job.memory = text_of(memory);
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
        saved_arrays(to_python(results.saved_arrays));
    return PyTuple_Pack(8, code.get(), messages.get(), output.get(), scalars.get(), ints.get(), statics.get(),
                        saved_scalars.get(), saved_arrays.get());
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

PyMethodDef methods[] = {
    {"compile", compile, METH_VARARGS,
     "compile(name, text or None, include, optimisation) -> (module, text, diagnostics, files)"},
    {"run", run, METH_VARARGS,
     "run(programs, values, segments, arrays, memory, write or None) -> (code, messages, output, scalars, ints, "
     "statics, saved_scalars, saved_arrays)"},
    {"rest", rest, METH_NOARGS, "Ends what is kept between runs, before a fork; later runs make it again."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_native",
                          "SIAL programs inside this process; see sialx.run.",
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that Python looks for
PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
