#compdef bm
compdef _bm bm

# What zsh completes of bm's command lines.                 -*- shell-script -*-
#
# Folders and tags may have been named by others: no word of the line is
# evaluated. What goes into the line is quoted by zsh.

_bm()
{
    local program=${(Q)words[1]} word=${(Q)PREFIX} answer line name about
    if [[ $program != */* || ! -x $program ]]; then
        program=bm
    fi
    answer=$("$program" __complete "${(@Q)words[2,CURRENT-1]}" "$word" 2>/dev/null) || return 1
    if [[ ${answer##*:} != <-> ]]; then
        return 1 # arithmetic would run what is no number
    fi
    local -i directive=${answer##*:}
    if ((directive & 1)); then
        return 1
    fi
    if [[ $word == -*=* ]]; then
        compset -P 1 '*='
    fi
    local -a offers space
    for line in ${(f)answer%:*}; do
        name=${line%%$'\t'*}
        name=${${name//\\/\\\\}//:/\\:}
        about=""
        if [[ $line == *$'\t'* ]]; then
            about=":${line#*$'\t'}"
        fi
        offers+=("$name$about")
    done
    if ((directive & 2)); then
        space=(-S '')
    fi
    if _describe bm offers "${space[@]}"; then
        return 0
    fi
    if ((directive & 4)); then
        return 1
    fi
    _files
}

# A file of fpath is run when it is first wanted.
if [[ $funcstack[1] == _bm ]]; then
    _bm
fi
