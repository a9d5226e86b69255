# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What zsh offers for each line of stdin: the line, a tab, and the candidates. Usage: offers.zsh FPATH
# A shell on a terminal of its own completes them, its compadd writing down what it is given.
zmodload zsh/zpty zsh/zselect
work=$(mktemp -d)
trap 'rm -rf $work' EXIT
zpty shell "zsh -f -i"
zpty -w shell "PS1= RPS1=; stty -echo; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -d $work/dump; setopt no_beep no_list_beep
compadd() {
	local -a given=(\"\$@\") hits=()
	if [[ \${given[1,(i)-]} == *-[OAD]* && \${given[(I)-[OAD]]} != 0 ]]; then builtin compadd \"\$@\"; return; fi
	builtin compadd -O hits \"\$@\"
	print -rl -- \$hits >>$work/hits
	builtin compadd \"\$@\"
}
finish() { print -r -- >>$work/done; BUFFER=; }
offer() { zle complete-word; }
zle -N finish; bindkey '^X' finish; bindkey '^I' complete-word
zstyle ':completion:*' menu no
print ready >$work/ready"
while [[ ! -s $work/ready ]]; do zselect -t 5; done
while IFS= read -r line; do
	rm -f $work/hits $work/done
	zpty -w -n shell "$line"$'\t'$'\x18'
	for ((i = 0; i < 400; i++)); do
		[[ ! -s $work/done ]] || break
		zselect -t 5
		zpty -r -t shell >/dev/null
	done
	zpty -w -n shell $'\x15'
	print -r -- "$line"$'\t'"${(j: :)${(ou)${(f)$(cat $work/hits 2>/dev/null)}}}"
done
zpty -d shell
