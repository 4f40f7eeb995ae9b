// Setters that need nothing else: what they set is not looked at, and concerns everything that is submitted later.
// Lines SETTER of the entry points.
#pragma once

#include "layer/common/stable_names.h"
#include "layer/streams/setters.h"

namespace refrain::layer::streams {

/// `functions.*function` is the real function.
template <class L, auto& functions, auto function, const replay::EntryPoint& entry_point>
struct GenericSetter;
template <class L, auto& functions, class Table, class... Parameters,
          typename L::Api::Status (*Table::*function)(Parameters...), const replay::EntryPoint& entry_point>
struct GenericSetter<L, functions, function, entry_point> {
  static typename L::Api::Status call(Parameters... parameters) noexcept {
    return Setters<L>::all().of_all(entry_point, stable_name(entry_point), 0, {},
                                    [&] { return (functions.*function)(parameters...); });
  }
};

}  // namespace refrain::layer::streams
