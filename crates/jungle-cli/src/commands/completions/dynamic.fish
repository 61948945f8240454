# What is in the folder on the line: trees, their branches and tags, and paths. If it is not about
# these, it is about commands, options and files.
function __jungle_finds
    set -l last (commandline -ct)
    set -g __jungle_found (command jungle complete fish (commandline -opc) "$last" 2>/dev/null)
    test (count $__jungle_found) -gt 0
end
complete -c jungle -n __jungle_finds -f -k -a '$__jungle_found'
