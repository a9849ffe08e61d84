//! Pintle as a library: sessions, requests and operations. It never prints, prompts, exits or reads the environment.
