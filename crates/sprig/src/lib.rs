//! The template function library of Helm: sprig and its neighbours, by family.
