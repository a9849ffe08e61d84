//! For tests only: chart builders, temporary homes and snapshot filters.
