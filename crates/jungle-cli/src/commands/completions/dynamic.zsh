# What is in the folder on the line: trees, their branches and tags, and paths. If it is not about
# these, it is about commands and options.
_jungle() {
    local last=$PREFIX
    # Between single quotes each character is itself.
    [[ $compstate[quote] == \' ]] || last=${(Q)PREFIX}
    local -a before found above leaves
    before=("${(@Q)words[1,CURRENT-1]}")
    found=("${(@f)$(command jungle complete zsh "${before[@]}" "$last" 2>/dev/null)}")
    # Behind a slash there is more below.
    above=(${(M)found:#*/})
    leaves=(${found:#*/})
    if (( $#above + $#leaves == 0 )); then
        _jungle_static "$@"
        return
    fi
    (( $#above )) && compadd -V jungle -S '' -- "${above[@]}"
    (( $#leaves )) && compadd -V jungle -- "${leaves[@]}"
    return 0
}
