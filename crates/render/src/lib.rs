//! Chart and values to text: the template engine with Helm's functions and objects.
