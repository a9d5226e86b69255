# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# fish completion for every tool of plumb, by asking the tool, as completion.bash does.
#
# Installed once for each tool, under the tool's name, as fish loads it.

# Candidates for the value of OPTION of TOOL, which takes ARGUMENT; LISTED: "OPTION help" lists them.
function __plumb_values --argument-names tool option argument listed
    set -l found
    # What the token has before this value: others of a list.  fish puts "--option=" back itself.
    set -l token (string replace -r '^(--[a-z-]+=|-[a-zA-Z])' '' -- (commandline -ct))
    set -l before ''
    if string match -q '*,...' -- $argument
        # "!a,": all but these.
        set before (string replace -r '[^,!]*$' '' -- $token)
    end
    set -l last (string replace -- "$before" '' "$token")
    if test -n "$listed"
        # Of arg:NAME only arg: can be completed.
        set found ($tool $option help 2>/dev/null </dev/null | string match -ra '\S+' | string replace -r '[A-Z].*' '')
    else
        switch $argument
            case '*|*'
                set found (string split '|' -- $argument)
            case 'PID*'
                set found (string match -rg '^/proc/([0-9]+)$' -- /proc/*)
            case 'TID*'
                set found (string match -rg '^/proc/[0-9]+/task/([0-9]+)$' -- /proc/*/task/*)
            case 'PATH*' 'DIR*'
                set -l directories $last*/
                set found $directories
            case 'NAME*'
                if contains -- $option -c --comm
                    set found (cat /proc/*/comm 2>/dev/null)
                end
        end
    end
    for one in $found
        contains -- $one (string split ',' -- (string trim -l -c '!' -- "$before"))
        or printf '%s\n' $before$one
    end
end

# The completion of the command after "--".
function __plumb_command
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    or return
    complete -C (string join ' ' -- (string escape -- $words[(math $dashes + 1)..-1]) (commandline -ct))
end

function __plumb_complete --argument-names tool
    type -q $tool
    or return
    complete -c $tool -f
    complete -c $tool -n 'contains -- -- (commandline -opc)' -a '(__plumb_command)'
    for line in (ARGP_HELP_FMT=rmargin=1000 $tool --help 2>/dev/null </dev/null)
        # PID[,...] ends like an optional argument
        set line (string replace '[,...]' ',...' -- $line)
        string match -qr '^ +(?:-(?<short>[[:alnum:]]), +)?--(?<long>[[:alnum:]-]+)(?<may>\[?)(?:=(?<argument>[^] ]+))?\]? +(?<text>.*)$' -- $line
        or continue
        set -l option -l $long -d $text
        test -z "$short" || set -a option -s $short
        set -l listed (string match '* help lists*' -- $text)
        # fish knows no argument that may be left out.
        if test -z "$argument" -o -n "$may"
            complete -c $tool $option
        else if string match -q 'FILE*' -- $argument
            complete -c $tool $option -r -F -a (string replace -r '^FILE\|?' '' -- $argument | string replace -a '|' ' ')
        else
            complete -c $tool $option -x -a "(__plumb_values $tool --$long '$argument' $(test -z "$listed" || echo 1))"
        end
    end
end

__plumb_complete (string replace -r '^(.*/)?(.*)\.fish$' '$2' -- (status filename))
