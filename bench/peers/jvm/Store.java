/** A store with the two trees, as {@code Work} needs it. */
interface Store extends AutoCloseable {
    /** Somebody who uses it: a thread, or a connection. */
    User user() throws Exception;

    /** Does it keep what was before, and can it compare two revisions? */
    boolean looksBack();

    /** Ends it in order; all that it has is in its folder then. */
    @Override
    void close() throws Exception;

    /** Who uses it. */
    interface User extends AutoCloseable {
        /**
         * Makes these leaves, and the nodes above them that the leaves before have not, in one
         * commit.
         */
        void load(String tree, int from, int to) throws Exception;

        /** Commits a value, durably; gives the revision's name, if it will be kept. */
        String put(String tree, int leaf, String value) throws Exception;

        /** The value of a leaf; {@code at} is a revision, or null for the newest. */
        String read(String tree, int leaf, String at) throws Exception;

        /** Is this value of this leaf all in which a revision differs from another? */
        boolean isChange(String tree, String before, String after, int leaf, String value)
            throws Exception;

        @Override
        void close() throws Exception;
    }
}
