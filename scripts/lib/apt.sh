# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Packages of any Debian release, from this machine's own APT sources, to be unpacked
# and never installed. Sourced by what defines die().

# Once, for what fills the directory $cache: the programs $2 and on are there (else $1 is said), nobody else
# fills it, and $work is a directory that ends with the process.
prepare_cache() {
	local hint=$1 need
	[[ -z $work ]] || return 0
	for need in "${@:2}"; do
		command -v "$need" >/dev/null || die "$need is missing: $hint"
	done
	mkdir -p "$cache" || die "cannot make the cache directory $cache"
	exec {lock}>"$cache/.lock"
	flock "$lock"
	work=$(mktemp -d)
	trap 'rm -rf "$work" "$cache/.new"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
}

# Print this machine's APT sources of format $1 ("list" or "sources") for other suites:
# $2 where it has a Debian release, $3 where it has a release's security archive.
# Mirrors, keys and options stay what they are.
derive_sources() {
	local list parts files=()
	eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	shopt -s nullglob
	case $1 in
	list) files=("${parts%/}"/*.list); [[ ! -f $list ]] || files+=("$list") ;;
	sources) files=("${parts%/}"/*.sources) ;;
	esac
	shopt -u nullglob
	(( ${#files[@]} )) || return 0
	awk -v format="$1" -v release="$2" -v security="$3" '
	# The suites to ask for instead of these; none where these are no Debian release.
	function instead(old,    n, i, word, new) {
		n = split(old, word, /[ \t\n]+/)
		for (i = 1; i <= n; i++) {
			if (word[i] ~ /^(bullseye|bookworm|trixie|forky|duke|(old)*stable|testing|sid|unstable)$/)
				return release
			if (word[i] ~ /^(bullseye|bookworm|trixie|forky|duke|(old)*stable|testing)(-security|\/updates)$/)
				new = security
		}
		return new
	}
	function one_line(    options, n, i, word, main) {
		sub(/#.*/, "")
		if (!match($0, /^[ \t]*deb[ \t]+/)) return
		$0 = substr($0, RLENGTH + 1)
		if (match($0, /^\[[^]]*\]/)) {
			options = substr($0, 1, RLENGTH)
			$0 = substr($0, RLENGTH + 1)
			gsub(/arch[+-]?=[^] \t]*/, "", options)
			if (options ~ /^\[[ \t]*\]$/) options = ""
		}
		for (i = 3; i <= NF; i++)
			if ($i == "main") main = 1
		n = main ? split(instead($2), word, " ") : 0
		for (i = 1; i <= n; i++)
			print "deb", options, $1, word[i], "main"
	}
	function stanza(    new) {
		new = instead(field["suites"])
		if (new != "" && field["types"] ~ /(^|[ \t])deb([ \t]|$)/ &&
		    field["components"] ~ /(^|[ \t\n])main([ \t\n]|$)/ &&
		    tolower(field["enabled"]) !~ /^(no|false|without|off|disable|0)$/)
			printf "%sTypes: deb\nSuites: %s\nComponents: main\n\n", kept, new
		kept = key = ""
		delete field
	}
	format == "list" { one_line(); next }
	FNR == 1 { stanza() }
	/^#/ { next }
	/^[ \t]*$/ { stanza(); next }
	/^[^ \t]/ {
		key = tolower(substr($0, 1, index($0, ":") - 1))
		field[key] = substr($0, index($0, ":") + 1)
		gsub(/^[ \t]+|[ \t]+$/, "", field[key])
	}
	/^[ \t]/ { field[key] = field[key] "\n" $0 }
	key !~ /^(types|suites|components|architectures|enabled)$/ { kept = kept $0 "\n" }
	END { stanza() }
	' "${files[@]}"
}

# Make a private APT of architecture $3 in directory $1 that knows the suites $2 and
# nothing of what the machine has installed, cached or pinned. $4 is what to do instead.
private_apt() {
	local dir=$1 deb_arch=$3 suite release="" security=""
	for suite in $2; do
		case $suite in
		*-security) security+=" $suite" ;;
		*) release+=" $suite" ;;
		esac
	done
	mkdir "$dir/state" "$dir/cache" "$dir/parts"
	: >"$dir/status"
	derive_sources list "$release" "$security" >"$dir/parts/derived.list"
	derive_sources sources "$release" "$security" >"$dir/parts/derived.sources"
	[[ -s $dir/parts/derived.list || -s $dir/parts/derived.sources ]] ||
		die "the APT sources of this machine name no Debian archive$4"
	# The list of a suite that was archived has expired, its signature has not.
	cat >"$dir/apt.conf" <<-END
	#clear APT::Update::Pre-Invoke;
	#clear APT::Update::Post-Invoke;
	#clear APT::Update::Post-Invoke-Success;
	#clear APT::Architectures;
	#clear Acquire::IndexTargets::deb::Contents-deb;
	#clear Acquire::IndexTargets::deb::Contents-deb-legacy;
	APT::Architecture "$deb_arch";
	APT::Architectures { "$deb_arch"; };
	APT::Default-Release "";
	Acquire::Check-Valid-Until "false";
	Acquire::Languages "none";
	Acquire::Retries "3";
	Dir::State "$dir/state";
	Dir::State::status "$dir/status";
	Dir::Cache "$dir/cache";
	Dir::Etc::sourcelist "/dev/null";
	Dir::Etc::sourceparts "$dir/parts";
	Dir::Etc::preferences "/dev/null";
	Dir::Etc::preferencesparts "/dev/null";
	END
}

# Unpack the packages $3... of suite $2, and all that they depend on, into $1/tree with a private
# APT in directory $1; $1/plan tells what was unpacked.
unpack_all() {
	local dir=$1 suite=$2 package names
	shift 2
	mkdir -p "$dir/deb" "$dir/tree"
	chmod 755 "$dir"
	chmod 777 "$dir/deb" # APT downloads as a user of its own where root calls it
	private_apt "$dir" "$suite" "$(dpkg --print-architecture)" ""
	apt-get -qq -c "$dir/apt.conf" update >"$dir/log" 2>&1 || die "$(tail -n 1 "$dir/log")"
	# With nothing installed this names all that they depend on.
	apt-get -qq -c "$dir/apt.conf" -o Debug::NoLocking=1 --no-install-recommends --simulate \
		install "$@" >"$dir/plan" 2>"$dir/log" || die "$(tail -n 1 "$dir/log")"
	mapfile -t names < <(awk '/^Inst/ { print $2 }' "$dir/plan")
	(cd "$dir/deb" && apt-get -qq -c "$dir/apt.conf" download "${names[@]}") >"$dir/log" 2>&1 ||
		die "$(tail -n 1 "$dir/log")"
	for package in "$dir"/deb/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x -C "$dir/tree"
	done
}
