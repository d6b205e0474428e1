#include <fmt/format.h>

#include "penstock/index.h"
#include "penstock/program.h"

namespace penstock {
namespace {

std::string tensor_of(const Program& program, const Message& message) {
  const Op& op = program.computes[index(message.producer)].op;
  return fmt::format("the {} of {}", tensor_name(message.kind), to_string(op));
}

}  // namespace

std::string to_string(const Program& program, const Action& action) {
  switch (action.kind) {
    case ActionKind::Compute: {
      const Compute& compute = program.computes[index(action.index)];
      if (compute.awaits < 0) return to_string(compute.op);
      const Message& message = program.messages[index(compute.awaits)];
      return fmt::format("{}, needs {} from actor {}", to_string(compute.op),
                         tensor_of(program, message), message.from);
    }
    case ActionKind::Send: {
      const Message& message = program.messages[index(action.index)];
      return fmt::format("send of {} to actor {}", tensor_of(program, message), message.to);
    }
    case ActionKind::Receive: {
      const Message& message = program.messages[index(action.index)];
      return fmt::format("receive of {} from actor {}", tensor_of(program, message), message.from);
    }
    case ActionKind::AwaitRoom:
      return fmt::format("room for the activation of {}",
                         to_string(program.computes[index(action.index)].op));
    case ActionKind::ReduceGradients:
      return fmt::format("gradient reduction of stages {}",
                         fmt::join(program.shared[index(action.index)], ", "));
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
