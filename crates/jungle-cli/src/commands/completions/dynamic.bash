# What is in the folder on the line: trees, their branches and tags, and paths. If it is not about
# these, it is about commands and options.
_jungle() {
    local found
    COMPREPLY=()
    while IFS= read -r found; do
        COMPREPLY+=("$found")
    done < <(command jungle complete bash "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 0 ]]; then
        _jungle_static "$@"
    elif [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]]; then
        # There is more below.
        compopt -o nospace 2>/dev/null
    fi
    return 0
}
