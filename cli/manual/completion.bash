# What bash completes of bm's command lines.                -*- shell-script -*-
#
# Folders and tags may have been named by others: no word of the line is
# evaluated, and whatever goes into the line is quoted.

# Splits a line as bash would. Sets words, without their quotes, typed, the last
# of them as it stands there, quote, which of ' and " is open at its end, and
# file where the last one is what < or > is followed by: that is no word.
__bm_split()
{
    local line=$1 c next i bare="" inside=""
    words=() typed="" quote="" file=""
    for ((i = 0; i < ${#line}; i++)); do
        c=${line:i:1}
        if [[ -z $quote && $c == [[:space:]\<\>] ]]; then
            if [[ $c == [\<\>] && $bare != *[!0-9]* ]]; then
                inside="" # the number of what goes elsewhere
            fi
            if [[ -n $inside && -z $file ]]; then
                words+=("$bare")
            fi
            if [[ $c == [\<\>] ]]; then
                file=yes
                if [[ ${line:i+1:1} == [\&\|] ]]; then
                    i=$((i + 1))
                fi
            elif [[ -n $inside ]]; then
                file=""
            fi
            bare="" inside="" typed=""
            continue
        fi
        inside=yes
        typed+=$c
        if [[ -n $quote && $c == "$quote" ]]; then
            quote=""
        elif [[ -z $quote && ($c == \' || $c == \") ]]; then
            quote=$c
        elif [[ $c == \\ && $quote != \' ]]; then
            next=${line:i+1:1}
            if [[ $quote == \" && $next != [\\\"\$\`] ]]; then
                bare+=$c
                continue
            fi
            bare+=$next
            typed+=$next
            i=$((i + 1))
        else
            bare+=$c
        fi
    done
    words+=("$bare")
}

# Sets bare to a word without its quotes.
__bm_bare()
{
    local words typed quote file
    __bm_split "$1"
    bare=${words[0]}
}

# Sets quoted to a text as it has to stand behind what is typed already.
__bm_quote()
{
    local closed="'\\''" elsewhere="\"'!'\""
    quoted=$1
    case $quote in
        \')
            quoted=${quoted//\'/$closed}
            ;;
        \")
            quoted=${quoted//\\/\\\\}
            quoted=${quoted//\"/\\\"}
            quoted=${quoted//\$/\\\$}
            quoted=${quoted//\`/\\\`}
            quoted=${quoted//!/$elsewhere} # history would be looked through for what follows
            ;;
        *)
            if [[ -n $quoted ]]; then
                printf -v quoted %q "$quoted"
            fi
            ;;
    esac
}

__bm_option()
{
    if [[ $(type -t compopt) == builtin ]]; then
        compopt "$@"
    fi
}

__start_bm()
{
    COMPREPLY=()
    local words typed quote file quoted
    __bm_split "${COMP_LINE:0:COMP_POINT}"
    if [[ -n $file ]]; then
        return 0
    fi
    local program=bm
    if [[ $1 == */* && -x $1 ]]; then
        program=$1
    fi
    local offers directive
    offers=$("$program" __complete "${words[@]:1}" 2>/dev/null) || return 0
    directive=${offers##*:}
    offers=${offers%:*}
    if [[ $directive == "" || $directive == *[!0-9]* ]] || ((directive & 1)); then
        return 0 # arithmetic would run what is no number
    fi
    if ((directive & 2)); then
        __bm_option -o nospace
    fi
    if ((directive & 4)); then
        __bm_option +o default
    fi

    # Bash puts the offer in the place of $2: it ends words at a = and a :, too.
    local word=${words[${#words[@]}-1]} flag="" bare
    if [[ $word == -*=* ]]; then
        flag=${word%%=*}=
    fi
    __bm_bare "${typed%"$2"}"

    local tab=$'\t' offer name about longest=0 names=() abouts=()
    while IFS="" read -r offer; do
        name=$flag${offer%%"$tab"*}
        if [[ -z $offer || $name != "$word"* ]]; then
            continue
        fi
        about=""
        if [[ $offer == *"$tab"* ]]; then
            about=${offer#*"$tab"}
        fi
        names+=("${name:${#bare}}")
        abouts+=("$about")
        if ((${#name} - ${#bare} > longest)); then
            longest=$((${#name} - ${#bare}))
        fi
    done <<<"$offers"

    local i
    for ((i = 0; i < ${#names[@]}; i++)); do
        if [[ ${COMP_TYPE-} == 63 ]]; then # they are shown, and nothing goes into the line
            quoted=${names[i]}
            if [[ -n ${abouts[i]} ]]; then
                printf -v quoted '%-*s  (%s)' "$longest" "$quoted" "${abouts[i]}"
                quoted=${quoted:0:${COLUMNS:-80}}
            fi
        else
            __bm_quote "${names[i]}"
        fi
        COMPREPLY+=("$quoted")
    done
}

if [[ $(type -t compopt) == builtin ]]; then
    complete -o default -F __start_bm bm
else
    complete -o default -o nospace -F __start_bm bm
fi
