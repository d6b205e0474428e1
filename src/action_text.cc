#include <fmt/format.h>

#include "penstock/program.h"

namespace penstock {
namespace {

std::string tensor_name(const Program& program, const Message& message) {
  const Op& op = program.computes[static_cast<std::size_t>(message.producer)].op;
  const bool forward = message.kind == OpKind::Forward;
  return fmt::format("the {} of {}", forward ? "activation" : "gradient", to_string(op));
}

}  // namespace

std::string to_string(const Program& program, const Action& action) {
  switch (action.kind) {
    case ActionKind::Compute: {
      const Compute& compute = program.computes[static_cast<std::size_t>(action.index)];
      if (compute.awaits < 0) return to_string(compute.op);
      const Message& message = program.messages[static_cast<std::size_t>(compute.awaits)];
      return fmt::format("{}, needs {} from actor {}", to_string(compute.op),
                         tensor_name(program, message), message.from);
    }
    case ActionKind::Send: {
      const Message& message = program.messages[static_cast<std::size_t>(action.index)];
      return fmt::format("send of {} to actor {}", tensor_name(program, message), message.to);
    }
    case ActionKind::Receive: {
      const Message& message = program.messages[static_cast<std::size_t>(action.index)];
      return fmt::format("receive of {} from actor {}", tensor_name(program, message),
                         message.from);
    }
    case ActionKind::AwaitRoom:
      return fmt::format("room for the activation of {}",
                         to_string(program.computes[static_cast<std::size_t>(action.index)].op));
    case ActionKind::ReduceGradients:
      return fmt::format("gradient reduction of stages {}",
                         fmt::join(program.shared[static_cast<std::size_t>(action.index)], ", "));
    case ActionKind::GlobalNorm:
      return "exchange of gradient norms";
    case ActionKind::Update:
      return fmt::format("update of stage {}", action.index);
    case ActionKind::PartialNorm:
      return "norms of its own gradients";
    case ActionKind::NormReceive:
      return "receive of gradient norms from the actor before";
    case ActionKind::NormSend:
      return "send of gradient norms to the next actor";
    case ActionKind::Verdict:
      return "verdict on the update";
  }
  return {};
}

}  // namespace penstock
