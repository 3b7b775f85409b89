#include "runtime/core/kernels/gpu/device_layout.h"

#include "runtime/core/kernels/gpu/device_code.h"

namespace sial::kernels {
namespace {

/// Numbers below `base` packed into one.
class Packer {
 public:
  void put(std::int32_t value, std::int32_t base) {
    number_ += value * factor_;
    factor_ *= base;
  }
  std::int32_t number() const { return number_; }

 private:
  std::int32_t number_ = 0, factor_ = 1;
};

class Unpacker {
 public:
  explicit Unpacker(std::int32_t number) : rest_(number) {}
  std::int32_t get(std::int32_t base) {
    const std::int32_t value = rest_ % base;
    rest_ /= base;
    return value;
  }
  bool done() const { return rest_ == 0; }

 private:
  std::int32_t rest_;
};

int sources_wanted(FusedOp op) {
  switch (op) {
    case FusedOp::copy:
    case FusedOp::scaled_copy:
    case FusedOp::accumulate: return 1;
    case FusedOp::sum: return 2;
    default: return 0;
  }
}

bool sound(const DeviceStep& s) {
  if (s.op > FusedOp::multiply) return false;
  if (is_table(s.op)) return s.a == DeviceForm::energies && s.b == DeviceForm::absent;
  const int n = sources_wanted(s.op);
  return s.a != DeviceForm::energies && (s.a != DeviceForm::absent) == (n > 0) &&
         (s.b != DeviceForm::absent) == (n > 1) && s.b < DeviceForm::energies;
}

bool sound(const DeviceFusedCode& code) {
  if (code.steps.empty() || code.steps.size() > DeviceFusedCode::max_steps || code.dims < 1 || code.dims > device_dims)
    return false;
  if (code.box_dims > code.dims || (code.box_dims > 0) != (code.transposed() > 0) ||
      code.transposed() > DeviceFusedCode::max_transposed)
    return false;
  if (code.pairs && code.box_dims > 0) return false;
  if (code.row_dims > 0 && code.row_dims >= code.box_dims) return false;
  for (int k = 0; k < DeviceFusedCode::max_transposed; ++k)
    if (const int n = code.transposed_row_dims[static_cast<std::size_t>(k)];
        n > 0 && (k >= code.transposed() || n >= code.box_dims))
      return false;
  if (code.products && (code.steps.size() != 1 || code.steps[0].op != FusedOp::copy || code.batched || code.pairs))
    return false;
  if (code.batched && DeviceFusedLayout(code).groups < 2) return false;
  bool differences = false;
  for (const DeviceStep& s : code.steps) {
    if (!sound(s)) return false;
    differences |= is_table(s.op);
  }
  if (!differences) return code.rank == 0 && code.energy_units == 0;
  if (code.batched || code.rank == 0 || code.rank % 2 != 0 || code.rank > device_dims) return false;
  for (int d = 0; d < code.rank; ++d)
    if (code.dim_of[static_cast<std::size_t>(d)] >= code.dims) return false;
  return DeviceFusedLayout(code).size <= 4096;
}

}  // namespace

int DeviceFusedCode::sources() const {
  int n = 0;
  for (const DeviceStep& s : steps) {
    n += s.a == DeviceForm::direct || s.a == DeviceForm::transposed ? 1 : 0;
    n += s.b == DeviceForm::direct || s.b == DeviceForm::transposed ? 1 : 0;
  }
  return n;
}

int DeviceFusedCode::transposed() const {
  int n = 0;
  for (const DeviceStep& s : steps)
    n += (s.a == DeviceForm::transposed ? 1 : 0) + (s.b == DeviceForm::transposed ? 1 : 0);
  return n;
}

int DeviceFusedCode::sets() const {
  int n = 0;
  for (const DeviceStep& s : steps)
    if (s.a == DeviceForm::energies && s.set >= n) n = s.set + 1;
  return n;
}

CodeKey device_fused_key(const DeviceFusedCode& code) {
  CodeKey key;
  key.kind = CodeKind::device_fused;
  Packer head;
  head.put(static_cast<std::int32_t>(code.steps.size()), 16);
  head.put(code.dims, device_dims + 1);
  head.put(code.box_dims, device_dims + 1);
  head.put(code.wide, 2);
  head.put(code.pairs, 2);
  head.put(code.unrolled, 2);
  head.put(code.batched, 2);
  head.put(code.energy_units, 16);
  head.put(code.products, 2);
  head.put(code.row_dims, device_dims);
  for (const int n : code.transposed_row_dims) head.put(n, device_dims);
  key.p[0] = head.number();
  Packer energies;
  energies.put(code.rank, device_dims + 1);
  for (const std::int8_t d : code.dim_of) energies.put(code.rank > 0 ? d + 1 : 0, device_dims + 1);
  key.p[1] = energies.number();
  for (std::size_t k = 0; k < code.steps.size(); ++k) {
    const DeviceStep& s = code.steps[k];
    Packer step;
    step.put(static_cast<std::int32_t>(s.op), 16);
    step.put(static_cast<std::int32_t>(s.a) + (s.a == DeviceForm::energies ? s.set : 0), 8);
    step.put(static_cast<std::int32_t>(s.b), 8);
    key.p[k + 2] = step.number();
  }
  return key;
}

bool read_device_fused_key(const CodeKey& key, DeviceFusedCode& code) {
  if (key.kind != CodeKind::device_fused) return false;
  for (const std::int32_t p : key.p)
    if (p < 0) return false;
  DeviceFusedCode found;
  Unpacker head(key.p[0]);
  const std::int32_t steps = head.get(16);
  if (steps < 1 || steps > DeviceFusedCode::max_steps) return false;
  found.dims = head.get(device_dims + 1);
  found.box_dims = head.get(device_dims + 1);
  found.wide = head.get(2) == 1;
  found.pairs = head.get(2) == 1;
  found.unrolled = head.get(2) == 1;
  found.batched = head.get(2) == 1;
  found.energy_units = head.get(16);
  found.products = head.get(2) == 1;
  found.row_dims = head.get(device_dims);
  for (int& n : found.transposed_row_dims) n = head.get(device_dims);
  Unpacker energies(key.p[1]);
  found.rank = energies.get(device_dims + 1);
  for (std::int8_t& d : found.dim_of)
    d = static_cast<std::int8_t>(energies.get(device_dims + 1) - (found.rank > 0 ? 1 : 0));
  if (!head.done() || !energies.done()) return false;
  for (std::int32_t k = 0; k < steps; ++k) {
    Unpacker step(key.p[static_cast<std::size_t>(k) + 2]);
    DeviceStep s;
    s.op = static_cast<FusedOp>(step.get(16));
    const std::int32_t a = step.get(8);
    s.a = static_cast<DeviceForm>(a > 4 ? 4 : a);
    s.set = a > 4 ? a - 4 : 0;
    s.b = static_cast<DeviceForm>(step.get(8));
    if (!step.done() || s.set >= DeviceFusedCode::max_sets) return false;
    found.steps.push_back(s);
  }
  if (!sound(found) || device_fused_key(found) != key) return false;
  code = std::move(found);
  return true;
}

DeviceDivisor device_divisor(std::uint32_t divisor) {
  if (divisor < 2) return {};
  // 2^shift < divisor <= 2^(shift + 1): the error of magic, below divisor / 2^(32 + shift), stays below 1 / n for n <
  // 2^31.
  std::uint32_t shift = 0;
  while ((std::uint64_t{2} << shift) < divisor) ++shift;
  const std::uint64_t power = std::uint64_t{1} << (32 + shift);
  return {divisor, static_cast<std::uint32_t>((power + divisor - 1) / divisor), shift};
}

DeviceFusedLayout::DeviceFusedLayout(const DeviceFusedCode& code) {
  std::size_t at = sizeof(DeviceHead);
  const auto part = [&](std::size_t bytes) {
    const std::size_t begin = at;
    at += bytes;
    return begin;
  };
  dims = part(sizeof(DeviceDim) * static_cast<std::size_t>(code.dims));
  sources = part(sizeof(DeviceSource) * static_cast<std::size_t>(code.sources()));
  transposed = part(sizeof(DeviceTransposed) * static_cast<std::size_t>(code.transposed()));
  sets = part(sizeof(DeviceEnergies) * static_cast<std::size_t>(code.sets()));
  energies = part(sizeof(double) * DeviceFusedCode::energy_unit * static_cast<std::size_t>(code.energy_units));
  batch = part(code.batched ? sizeof(DeviceBatch) : 0);
  addresses = at;
  if (code.batched) {
    const std::size_t each = sizeof(double*) * static_cast<std::size_t>(code.operands());
    groups = at < max_argument_bytes ? (max_argument_bytes - at) / each : 0;
    part(groups * each);
  }
  size = at;
}

bool is_device_sum_key(const CodeKey& key) { return key == CodeKey{CodeKind::device_sum, {}}; }

}  // namespace sial::kernels
