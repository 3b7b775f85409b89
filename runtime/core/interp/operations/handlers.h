#pragma once
// The handlers of instructions: a class for each class of opcodes.def, with a handler op_<name> for each of its rows.
// Whoever dispatches writes `handlers.<class>.op_<name>(instruction, statement)`, generated from the table, so
// that a row without a handler does not compile or link. Owned by the machine.

#include "runtime/core/interp/operations/block_handlers.h"
#include "runtime/core/interp/operations/control_handlers.h"
#include "runtime/core/interp/operations/device_handlers.h"
#include "runtime/core/interp/operations/execute_handlers.h"
#include "runtime/core/interp/operations/memory_handlers.h"
#include "runtime/core/interp/operations/output_handlers.h"
#include "runtime/core/interp/operations/persist_handlers.h"
#include "runtime/core/interp/operations/remote_handlers.h"
#include "runtime/core/interp/operations/scalar_handlers.h"
#include "runtime/core/interp/operations/sync_handlers.h"

namespace sial {

struct Handlers {
  ControlHandlers control;
  IntegerHandlers integer;
  ScalarHandlers scalar;
  BlockHandlers block;
  MemoryHandlers memory;
  FetchHandlers fetch;
  PutHandlers put;
  SyncHandlers sync;
  PersistHandlers persist;
  OutputHandlers output;
  ExecuteHandlers execute;
  DeviceHandlers device;
};

}  // namespace sial
