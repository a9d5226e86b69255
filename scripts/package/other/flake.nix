# Untested: this project's tests cannot build it, because they have Debian's archive only. It belongs at the top of the sources.
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
{
  description = "Single-purpose tracing tools that show which calls are slow";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      forAll = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = forAll (system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.stdenv.mkDerivation {
            pname = "plumb-tools";
            version = "0.2.0";
            src = self;

            nativeBuildInputs = with pkgs; [
              bpftools
              llvmPackages.clang-unwrapped
              llvmPackages.llvm
              lz4
              pkg-config
              python3
              python3Packages.docutils
            ];
            buildInputs = with pkgs; [
              bzip2
              capstone
              elfutils
              jansson
              libbpf
              libcap
              libiberty
              libseccomp
              lz4
              xz
              zlib
              zstd
            ];

            # BPF objects are not hardened as programs are: clang is called without nixpkgs' wrapper. The kernel's types are
            # those of the kernel that nixpkgs has, not the builder's.
            makeFlags = [
              "DYNAMIC=1"
              "prefix=${placeholder "out"}"
              "CLANG=${pkgs.llvmPackages.clang-unwrapped}/bin/clang"
              "BPFTOOL=${pkgs.bpftools}/bin/bpftool"
              "PYTHON=${pkgs.python3}/bin/python3"
              "VMLINUX_BTF=${pkgs.linux.dev}/vmlinux"
            ];
            enableParallelBuilding = true;
            postPatch = "patchShebangs scripts";

            meta = {
              license = with pkgs.lib.licenses; [ gpl2Only bsd2 lgpl2Plus ];
              platforms = systems;
            };
          };
        });
    };
}
