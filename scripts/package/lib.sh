# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2034
#
# What the scripts that make packages share: messages, version, date, archives of the same bytes
# wherever and whoever makes them. Sourced.

readonly program=${0##*/}
package_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly package_here top=${package_here%/*/*}

say() { printf '%s: %s\n' "$program" "$*" >&2; }
die() { say "$@"; exit 1; }
misuse() { say "$* (try --help)"; exit 2; }

# The one place of the version is the Makefile.
version=$(sed -nE 's/^VERSION *:= *//p' "$top/Makefile")

# The project's public address. It has none yet: a name that leads nowhere (RFC 2606) marks the blank.
readonly url=${PLUMB_URL:-https://plumb.invalid}

# Nothing of the caller's reaches what is made: neither its locale, nor its umask, nor the variables
# of a make that runs this.
package_environment() {
	umask 022
	unset MAKEFLAGS MAKELEVEL MFLAGS WERROR B TOOLS TZ LANGUAGE
	export LC_ALL=C.UTF-8
}

# The seconds since 1970 that everything is dated by: $SOURCE_DATE_EPOCH; in what "make dist" made, the file
# that it puts there; else the last commit's.
package_epoch() {
	local epoch=${SOURCE_DATE_EPOCH-}
	if [[ -z $epoch && -f $package_here/epoch ]]; then
		epoch=$(<"$package_here/epoch")
	elif [[ -z $epoch ]]; then
		epoch=$(git -C "$top" log -1 --format=%ct 2>/dev/null) ||
			die "no date: neither a git checkout nor what make dist made: set SOURCE_DATE_EPOCH"
	fi
	[[ $epoch =~ ^[0-9]+$ ]] || die "not a number of seconds: SOURCE_DATE_EPOCH=$epoch"
	echo "$epoch"
}

# The commit that everything is made of, and whether files differ from it.
package_commit() {
	if [[ -f $package_here/commit ]]; then
		cat "$package_here/commit"
	else
		git -C "$top" describe --always --abbrev=40 --exclude='*' --dirty=' with changes' 2>/dev/null || echo unknown
	fi
}

# Directory $2 of directory $1 as the archive $3, dated $4.
package_archive() {
	tar -C "$1" --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w,a+X \
		--mtime="@$4" -c "$2" | xz -T1 -6 >"$3.tmp"
	mv "$3.tmp" "$3"
}

# File $1 on stdout, @NAME@ replaced by what the variables given as NAME=TEXT say, without its own
# comment of a licence where the format has none.
package_fill() {
	local file=$1 pair
	local -a edits=(-e '1{/SPDX-License-Identifier/d}')
	shift
	for pair; do
		edits+=(-e "s|@${pair%%=*}@|${pair#*=}|g")
	done
	sed "${edits[@]}" "$file"
}

# --output=DIR and --tools=LIST into $output and $tools; $1 is the function that prints the usage.
package_options() {
	local usage=$1 option
	output=$top/build/package tools=""
	shift
	for option; do
		case $option in
		--output=?*) output=${option#*=} ;;
		--tools=?*) tools=${option#*=} ;;
		-h | --help) "$usage"; exit 0 ;;
		*) misuse "unknown option: $option" ;;
		esac
	done
	mkdir -p "$output" || die "cannot make the directory $output"
	output=$(cd "$output" && pwd)
}

# For the make that a package's build runs: only $tools.
package_only_tools() {
	[[ -z $tools ]] || export MAKEFLAGS=" -- TOOLS=${tools// /\\ }"
}
