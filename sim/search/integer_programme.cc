#include "integer_programme.h"

#include <coin/Cbc_C_Interface.h>
#include <memory>
#include <mutex>
#include <string>

namespace penstock {
namespace {

struct Delete {
  void operator()(void* model) const { Cbc_deleteModel(model); }
};

}  // namespace

std::int32_t IntegerProgramme::add_continuous(double lower, double upper) {
  variables_.push_back({lower, upper, false});
  return static_cast<std::int32_t>(variables_.size()) - 1;
}

std::int32_t IntegerProgramme::add_binary() {
  variables_.push_back({0, 1, true});
  return static_cast<std::int32_t>(variables_.size()) - 1;
}

void IntegerProgramme::add_row(std::vector<Term> terms, double least) {
  rows_.push_back({std::move(terms), least});
}

IntegerProgramme::Answer IntegerProgramme::minimise(std::int32_t variable,
                                                    std::int32_t nodes) const {
  static std::mutex one_at_a_time;  // CBC's driver keeps globals
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  const std::unique_ptr<Cbc_Model, Delete> owner(Cbc_newModel());
  Cbc_Model* const model = owner.get();
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const double objective = static_cast<std::int32_t>(i) == variable ? 1 : 0;
    Cbc_addCol(model, std::to_string(i).c_str(), variables_[i].lower, variables_[i].upper,
               objective, variables_[i].binary ? 1 : 0, 0, nullptr, nullptr);
  }
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::vector<int> columns;
    std::vector<double> factors;
    for (const Term& term : rows_[i].terms) {
      columns.push_back(term.variable);
      factors.push_back(term.factor);
    }
    Cbc_addRow(model, std::to_string(i).c_str(), static_cast<int>(columns.size()), columns.data(),
               factors.data(), 'G', rows_[i].least);
  }
  Cbc_setLogLevel(model, 0);
  Cbc_setParameter(model, "randomCbcSeed", "1");
  Cbc_setParameter(model, "maxNodes", std::to_string(nodes).c_str());
  Cbc_solve(model);
  Answer answer;
  answer.infeasible = Cbc_isProvenInfeasible(model) != 0;
  if (answer.infeasible) return answer;
  answer.bound = Cbc_getBestPossibleObjValue(model);
  if (const double* solution = Cbc_bestSolution(model)) {
    answer.solution.assign(solution, solution + variables_.size());
  }
  return answer;
}

}  // namespace penstock
