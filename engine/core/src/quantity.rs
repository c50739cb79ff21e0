//! Quantities with their units: durations, rates, sizes, percentages.
