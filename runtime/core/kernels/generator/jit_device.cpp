// Kernels of GPUs. A kernel is built as phases, functions of one thread of a thread block between barriers that leave
// each other what lies in shared memory. On the GPU every thread goes through the phases with barriers between them;
// the host fallback takes each block's threads through one phase after the other.

#include "runtime/core/kernels/generator/jit_device_builder.h"

namespace sial::kernels {
namespace {

class DeviceFusedBuilder final : public DeviceBuilder {
 public:
  DeviceFusedBuilder(llvm::Module& module, const CodeKey& key, const DeviceFusedCode& code, bool host_fallback)
      : DeviceBuilder(module, key, host_fallback),
        code_(code),
        layout_(code),
        box_(code.box_dims > 0),
        parts_(code.parts()) {
    wide_ = code.wide;
    for (int d = 0; d < code.dims; ++d) {
      const std::size_t dim = layout_.dims + sizeof(DeviceDim) * static_cast<std::size_t>(d);
      dims_.push_back(dim);
      boxes_.push_back(dim + offsetof(DeviceDim, boxes));
      if (d < code.box_dims || !box_) inner_.push_back(dim + offsetof(DeviceDim, inner));
      target_strides_.push_back(dim + offsetof(DeviceDim, target_stride));
    }
    int source = 0, transposed = 0;
    for (const DeviceStep& s : code.steps) {
      std::array<Source, 2> of;
      for (std::size_t q = 0; q < 2; ++q) {
        const DeviceForm form = q == 0 ? s.a : s.b;
        if (form != DeviceForm::direct && form != DeviceForm::transposed) continue;
        of[q].at = layout_.sources + sizeof(DeviceSource) * static_cast<std::size_t>(source);
        of[q].number = source++;
        for (int d = 0; d < code.dims; ++d)
          of[q].strides.push_back(of[q].at + offsetof(DeviceSource, stride) +
                                  sizeof(std::int64_t) * static_cast<std::size_t>(d));
        if (form == DeviceForm::transposed) of[q].transposed = transposed++;
      }
      sources_.push_back(of);
    }
  }

  void build() {
    const bool shared_energies = code_.rank > 0 && code_.energy_units > 0;
    if (box_ || shared_energies) {
      begin();
      if (shared_energies) fetch_energies();
      for (const auto& of : sources_)
        for (const Source& s : of)
          if (s.transposed >= 0) fetch(s);
      end_phase();
    }
    begin();
    go_through();
    end_phase();
    if (code_.products)
      add_up(offsetof(DeviceHead, after_boxes),
             [&](Value* sum) { store(sum, at(argument(offsetof(DeviceHead, sums), global()), group_), 3); });
  }
  std::size_t argument_bytes() const { return layout_.size; }

 private:
  struct Source {
    std::size_t at = 0;
    int number = 0, transposed = -1;
    std::vector<std::size_t> strides;
  };
  /// A phase. From here on the thread block's number is that within its chain.
  void begin() {
    begin_phase();
    if (!code_.batched) return;
    const Divided divided = divide(group_, layout_.batch + offsetof(DeviceBatch, blocks), true);
    group_ = divided.rest;
    Value* first = b_.CreateMul(divided.quotient, number(8 * code_.operands()));
    addresses_ =
        b_.CreateGEP(b_.getInt8Ty(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arguments_, layout_.addresses),
                     b_.CreateZExt(first, b_.getInt64Ty()));
  }
  /// The address in the target, -1, or a source; `at`: where it stands when there is only one.
  Value* address(int source, std::size_t at) {
    if (!code_.batched) return argument(at, global());
    return unchanging(b_.CreateLoad(
        global(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), addresses_, 8 * static_cast<std::size_t>(source + 1))));
  }

  /// A thread's way through the rows of a box.
  struct Walk {
    Value *first, *rows, *step;  // first: rows, where the thread has no place in any
    Values place;                // coordinates in the dimensions of a row
  };
  /// `inner`: of the box's dimensions in the operand's order, the first row_dims are those of a row.
  Walk walk(std::size_t at, int row_dims, const std::vector<std::size_t>& inner) {
    Walk w{thread_, argument32(at + offsetof(DeviceRows, rows)), argument32(at + offsetof(DeviceRows, at_once)), {}};
    if (row_dims == 0) return w;
    const Divided d = divide(thread_, at + offsetof(DeviceRows, row), false);
    w.first = b_.CreateSelect(b_.CreateICmpULT(d.quotient, w.step), d.quotient, w.rows);
    w.place = coordinates(d.rest, {inner.begin(), inner.begin() + row_dims}, false);
    return w;
  }
  /// A step of all of them.
  Value* next(const Walk& w) { return b_.CreateMul(w.step, number(parts_)); }
  /// The coordinates in the box of a row's element at the thread's place.
  Values in_box(const Walk& w, Value* row, const std::vector<std::size_t>& inner) {
    Values c = w.place;
    for (Value* x : coordinates(row, {inner.begin() + std::ssize(c), inner.end()}, false)) c.push_back(x);
    return c;
  }

  /// The begin of the thread block's box, in every dimension.
  Values first_of_box() {
    Values first = coordinates(group_, boxes_, true);
    for (std::size_t d = 0; d < static_cast<std::size_t>(code_.box_dims); ++d)
      first[d] = b_.CreateMul(first[d], argument32(inner_[d] + offsetof(DeviceDivisor, divisor)));
    return first;
  }

  void fetch_energies() {
    Value* begin = argument32(offsetof(DeviceHead, after_boxes));
    loop(thread_, argument32(offsetof(DeviceHead, energies)), threads_, [&](Value* i) {
      Value* from = b_.CreateGEP(f64(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), arguments_, layout_.energies),
                                 b_.CreateZExt(i, b_.getInt64Ty()));
      store(unchanging(b_.CreateLoad(f64(), from)), in_shared(b_.CreateAdd(begin, i)), 100);
    });
  }

  /// The box of a transposed source, in the order in which it lies.
  void fetch(const Source& s) {
    const std::size_t transposed =
        layout_.transposed + sizeof(DeviceTransposed) * static_cast<std::size_t>(s.transposed);
    std::vector<std::size_t> inner, strides, pitches;
    for (int d = 0; d < code_.box_dims; ++d) {
      const std::size_t dim =
          transposed + offsetof(DeviceTransposed, dim) + sizeof(DeviceTransposed::Dim) * static_cast<std::size_t>(d);
      inner.push_back(dim + offsetof(DeviceTransposed::Dim, inner));
      strides.push_back(dim + offsetof(DeviceTransposed::Dim, stride));
      pitches.push_back(dim + offsetof(DeviceTransposed::Dim, pitch));
    }
    Value* data = address(s.number, s.at + offsetof(DeviceSource, data));
    Value* origin = index(first_of_box(), s.strides);
    Value* last = argument(transposed + offsetof(DeviceTransposed, last), index_type());
    Value* to = argument32(transposed + offsetof(DeviceTransposed, shared));
    const auto site = static_cast<std::uint32_t>(10 + s.number);
    const Walk rows = walk(transposed + offsetof(DeviceTransposed, rows),
                           code_.transposed_row_dims[static_cast<std::size_t>(s.transposed)], inner);
    loop(rows.first, rows.rows, next(rows), [&](Value* k) {
      Values value, address, valid;
      for (int u = 0; u < parts_; ++u) {
        // Threads without a row of their own read the first one in vain.
        Value* row = b_.CreateAdd(k, b_.CreateMul(rows.step, number(u)));
        valid.push_back(b_.CreateICmpULT(row, rows.rows));
        const Values c = in_box(rows, b_.CreateSelect(valid.back(), row, number(0)), inner);
        Value* from = index(c, strides, origin);
        from = b_.CreateSelect(b_.CreateICmpULT(from, last), from, last);
        value.push_back(load_unchanging(f64(), at(data, from), site));
        Value* place = to;
        for (std::size_t d = 0; d < c.size(); ++d)
          place = b_.CreateAdd(place, b_.CreateMul(c[d], argument32(pitches[d])));
        address.push_back(in_shared(place));
      }
      // Two threads that write one element of shared memory would be a race, even with one value.
      for (std::size_t u = 0; u < value.size(); ++u) when(valid[u], [&] { store(value[u], address[u], site); });
    });
  }

  /// Elements in the target's order through all steps.
  void go_through() {
    target_ = address(-1, offsetof(DeviceHead, target));
    sums_.clear();
    for (int n = code_.products ? parts_ : 0; n > 0; --n) {
      sums_.push_back(b_.CreateAlloca(f64()));
      b_.CreateStore(llvm::ConstantFP::get(f64(), 0.0), sums_.back());
    }
    if (box_) go_through_box();
    else go_through_span();
    if (!code_.products) return;
    Values sum;
    for (Value* s : sums_) sum.push_back(b_.CreateLoad(f64(), s));
    for (; sum.size() > 1; sum.resize(sum.size() / 2))
      for (std::size_t k = 0; k < sum.size() / 2; ++k) sum[k] = b_.CreateFAdd(sum[2 * k], sum[2 * k + 1]);
    store(sum[0], place_of_sum(offsetof(DeviceHead, after_boxes)), 2);
  }

  void go_through_span() {
    Value* count = argument32(offsetof(DeviceHead, count));
    Value* span = argument32(offsetof(DeviceHead, span));
    Value* begin = b_.CreateMul(group_, span);
    loop(thread_, span, b_.CreateMul(threads_, number(parts_)), [&](Value* k) {
      Elements elements;
      for (int u = 0; u < parts_; ++u) {
        Value* e = b_.CreateAdd(begin, b_.CreateAdd(k, b_.CreateMul(threads_, number(u))));
        Value* inside = b_.CreateICmpULT(e, count);
        take(elements, coordinates(b_.CreateSelect(inside, e, number(0)), inner_, false), inside);
      }
      leave(elements);
    });
  }

  void go_through_box() {
    first_ = first_of_box();
    Values limit;
    for (std::size_t d = 0; d < inner_.size(); ++d)
      limit.push_back(b_.CreateSub(argument32(dims_[d] + offsetof(DeviceDim, extent)), first_[d]));
    target_origin_ = index(first_, target_strides_);
    origin_.clear();
    for (const auto& of : sources_)
      for (const Source& s : of)
        if (!s.strides.empty())
          origin_.push_back(s.transposed < 0
                                ? index(first_, s.strides)
                                : argument32(layout_.transposed +
                                             sizeof(DeviceTransposed) * static_cast<std::size_t>(s.transposed) +
                                             offsetof(DeviceTransposed, shared)));
    Walk rows = walk(offsetof(DeviceHead, rows), code_.row_dims, inner_);
    const auto row_dims = rows.place.size();
    for (std::size_t d = 0; d < row_dims; ++d)
      rows.first = b_.CreateSelect(b_.CreateICmpULT(rows.place[d], limit[d]), rows.first, rows.rows);
    loop(rows.first, rows.rows, next(rows), [&](Value* k) {
      Elements elements;
      for (int u = 0; u < parts_; ++u) {
        Value* row = b_.CreateAdd(k, b_.CreateMul(rows.step, number(u)));
        Value* inside = b_.CreateICmpULT(row, rows.rows);
        Values c = in_box(rows, b_.CreateSelect(inside, row, number(0)), inner_);
        for (std::size_t d = row_dims; d < limit.size(); ++d)
          inside = b_.CreateAnd(inside, b_.CreateICmpULT(c[d], limit[d]));
        for (std::size_t d = row_dims; d < limit.size(); ++d)
          c[d] = b_.CreateSelect(inside, c[d], number(0));  // any element of the box, for what is read in vain
        take(elements, c, inside);
      }
      leave(elements);
    });
  }

  /// The elements that a thread works on at once.
  struct Elements {
    std::vector<Values> x;
    Values address, valid;
  };
  void take(Elements& elements, const Values& c, Value* valid) {
    elements.address.push_back(at(target_, index(c, target_strides_, box_ ? target_origin_ : nullptr)));
    elements.valid.push_back(valid);
    elements.x.push_back(element(c, elements.address.back()));
  }
  void leave(const Elements& elements) {
    for (std::size_t u = 0; u < elements.x.size(); ++u) {
      const Values& x = elements.x[u];
      if (code_.products) {
        Value* product = b_.CreateSelect(elements.valid[u], x[0], llvm::ConstantFP::get(f64(), 0.0));
        b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(f64(), sums_[u]), product), sums_[u]);
        continue;
      }
      when(elements.valid[u], [&] {
        if (!code_.pairs) return store(x[0], elements.address[u], 1);
        Value* both = b_.CreateInsertElement(llvm::PoisonValue::get(pair()), x[0], b_.getInt64(0));
        store(b_.CreateInsertElement(both, x[1], b_.getInt64(1)), elements.address[u], 1, 16);
      });
    }
  }

  llvm::Type* pair() { return llvm::FixedVectorType::get(f64(), 2); }
  Values lanes(Value* from, std::uint32_t site, bool changes) {
    llvm::Type* type = code_.pairs ? pair() : f64();
    const unsigned align = code_.pairs ? 16 : 8;
    Value* value = changes ? load(type, from, site, align) : load_unchanging(type, from, site, align);
    if (!code_.pairs) return {value};
    return {b_.CreateExtractElement(value, b_.getInt64(0)), b_.CreateExtractElement(value, b_.getInt64(1))};
  }

  /// The element, or pair of them, after all steps.
  Values element(const Values& c, Value* address) {
    const DeviceStep& front = code_.steps.front();
    if (code_.products) {
      const Values x = lanes(address, 0, false);
      return {b_.CreateFMul(x[0], read(front, front.a, sources_.front()[0], c, x)[0])};
    }
    const bool fresh = replaces_target(front.op) && front.a != DeviceForm::self && front.b != DeviceForm::self;
    Values x = fresh ? Values(code_.pairs ? 2 : 1, llvm::ConstantFP::get(f64(), 0.0)) : lanes(address, 0, true);
    for (std::size_t k = 0; k < code_.steps.size(); ++k) {
      const DeviceStep& s = code_.steps[k];
      std::array<Values, 2> source;
      for (std::size_t q = 0; q < 2; ++q) source[q] = read(s, q == 0 ? s.a : s.b, sources_[k][q], c, x);
      Value* value = argument(offsetof(DeviceHead, value) + sizeof(double) * k, f64());
      for (std::size_t lane = 0; lane < x.size(); ++lane) {
        Values of;
        for (const Values& v : source)
          if (!v.empty()) of.push_back(v[lane]);
        x[lane] = build_step(b_, s.op, x[lane], value, of);
      }
    }
    return x;
  }

  Values read(const DeviceStep& s, DeviceForm form, const Source& source, const Values& c, const Values& x) {
    const auto n = static_cast<std::size_t>(source.number);
    switch (form) {
      case DeviceForm::absent: return {};
      case DeviceForm::self: return x;
      case DeviceForm::direct: {
        Value* data = address(source.number, source.at + offsetof(DeviceSource, data));
        return lanes(at(data, index(c, source.strides, box_ ? origin_[n] : nullptr)),
                     static_cast<std::uint32_t>(40 + source.number), false);
      }
      case DeviceForm::transposed: {
        Value* place = origin_[n];
        for (std::size_t d = 0; d < c.size(); ++d)
          place = b_.CreateAdd(place, b_.CreateMul(c[d], argument32(dims_[d] + offsetof(DeviceDim, pitch) +
                                                                    4 * static_cast<std::size_t>(source.transposed))));
        return {load(f64(), in_shared(place), static_cast<std::uint32_t>(40 + source.number))};
      }
      case DeviceForm::energies: break;
    }
    Values result;
    for (int lane = 0; lane < (code_.pairs ? 2 : 1); ++lane) result.push_back(difference(s.set, c, lane));
    return result;
  }

  /// ((shift + (e2[p2] - e1[p1])) + (e4[p4] - e3[p3])) + ...
  Value* difference(int set, const Values& c, int lane) {
    const std::size_t of = layout_.sets + sizeof(DeviceEnergies) * static_cast<std::size_t>(set);
    Value* shift = argument(of + offsetof(DeviceEnergies, shift), f64());
    Values addends{shift};
    for (int d = 0; d < code_.rank; d += 2) {
      Value* y = energy(of, d + 1, c, lane);
      addends.push_back(b_.CreateFSub(y, energy(of, d, c, lane)));
    }
    return build_difference(b_, addends);
  }

  Value* energy(std::size_t set, int d, const Values& c, int lane) {
    Value* place = argument32(set + offsetof(DeviceEnergies, start) + 4 * static_cast<std::size_t>(d));
    if (const int k = code_.dim_of[static_cast<std::size_t>(d)]; k >= 0)
      place = b_.CreateAdd(place, position(static_cast<std::size_t>(k), c, lane));
    if (code_.energy_units > 0)
      return load(f64(), in_shared(b_.CreateAdd(place, argument32(offsetof(DeviceHead, after_boxes)))),
                  static_cast<std::uint32_t>(60 + d));
    return load_unchanging(f64(), at(argument(offsetof(DeviceHead, table), global()), place),
                           static_cast<std::uint32_t>(60 + d));
  }

  /// In a dimension of the kernel.
  Value* position(std::size_t d, const Values& c, int lane) {
    if (code_.pairs && d == 0) return b_.CreateAdd(b_.CreateMul(c[0], number(2)), number(lane));
    if (!box_) return c[d];
    return d < c.size() ? b_.CreateAdd(first_[d], c[d]) : first_[d];
  }

  const DeviceFusedCode code_;
  const DeviceFusedLayout layout_;
  const bool box_;
  const int parts_;
  std::vector<std::size_t> dims_, boxes_, inner_, target_strides_;
  std::vector<std::array<Source, 2>> sources_;
  Value *target_ = nullptr, *target_origin_ = nullptr, *addresses_ = nullptr;
  Values first_, origin_;  // of the box; where it begins in sources, or in the shared memory of transposed ones
  Values sums_;            // of products
};

class DeviceSumBuilder final : public DeviceBuilder {
 public:
  using DeviceBuilder::DeviceBuilder;

  void build() {
    begin_phase();
    Value* numbers = argument(offsetof(DeviceSum, number), global());
    Value* span = argument32(offsetof(DeviceSum, span));
    Value* begin = b_.CreateMul(group_, span);
    Value* rest = b_.CreateSub(argument32(offsetof(DeviceSum, count)), begin);
    Value* count = b_.CreateSelect(b_.CreateICmpULT(rest, span), rest, span);
    Value* sum = b_.CreateAlloca(f64());
    b_.CreateStore(llvm::ConstantFP::get(f64(), 0.0), sum);
    loop(thread_, count, number(DeviceSum::threads), [&](Value* k) {
      Value* x = load(f64(), at(numbers, b_.CreateAdd(begin, k)), 0);
      b_.CreateStore(b_.CreateFAdd(b_.CreateLoad(f64(), sum), x), sum);
    });
    store(b_.CreateLoad(f64(), sum), place_of_sum(), 1);
    end_phase();
    add_up(std::nullopt,
           [&](Value* total) { store(total, at(argument(offsetof(DeviceSum, total), global()), group_), 2); });
  }
};

}  // namespace

bool build_device(llvm::Module& module, const CodeKey& key, bool host_fallback) {
  constexpr int threads = static_cast<int>(DeviceSum::threads);
  if (key.kind == CodeKind::device_fused) {
    DeviceFusedCode code;
    if (!read_device_fused_key(key, code)) return false;
    DeviceFusedBuilder builder(module, key, code, host_fallback);
    builder.build();
    builder.finish(builder.argument_bytes(), threads);
  } else {
    if (!is_device_sum_key(key)) return false;
    DeviceSumBuilder builder(module, key, host_fallback);
    builder.build();
    builder.finish(sizeof(DeviceSum), threads);
  }
  return true;
}

}  // namespace sial::kernels
