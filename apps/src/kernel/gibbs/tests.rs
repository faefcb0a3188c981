use rand::SeedableRng;

use super::*;
