#include <gtest/gtest.h>

#include "penstock/op.h"

// Replaced by the area's real tests.
TEST(Smoke, Links) {
  EXPECT_EQ(penstock::letter(penstock::OpKind::Forward), 'F');
}
