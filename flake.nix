# `nix profile install`, `nix run`, `nix develop`: built from source with the compiler of nixpkgs.
{
  description = "A package manager for Kubernetes and drop-in for Helm";
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: rec {
        default = pintle;
        pintle = pkgs.rustPlatform.buildRustPackage {
          pname = "pintle";
          version = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" "pintle-cli" ];
          # The tests need Go, a registry and a cluster; `cargo xtask ci` runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          # The script engine is linked against the C++ library of nixpkgs, which is not static.
          CXXSTDLIB_x86_64_unknown_linux_gnu = "stdc++";
          CXXSTDLIB_aarch64_unknown_linux_gnu = "stdc++";
          PINTLE_COMMIT = self.rev or "";
          postInstall = ''
            for shell in bash zsh fish; do
              $out/bin/pintle completion $shell > pintle.$shell
              installShellCompletion --cmd pintle --$shell pintle.$shell
            done
            $out/bin/pintle docs --type man --dir man1 && installManPage man1/*.1
          '';
          meta = { homepage = "https://pintle.dev"; license = pkgs.lib.licenses.asl20; mainProgram = "pintle"; };
        };
      });
      devShells = each (pkgs: {
        default = pkgs.mkShell { nativeBuildInputs = [ pkgs.rustup pkgs.go pkgs.gcc pkgs.python3 pkgs.git ]; };
      });
    };
}
