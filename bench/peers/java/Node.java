import java.util.Arrays;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * An immutable node: sorted arrays that are copied whole by an edit, shared otherwise.
 *
 * <p>Like the originals, an edit of a path that does not exist changes nothing.
 */
final class Node {
    private static final Node[] NO_CHILDREN = {};
    private static final byte[][] NO_ATTRIBUTES = {};

    /** One object that every empty leaf shares. */
    static final Node EMPTY = new Node(NO_CHILDREN, null, NO_ATTRIBUTES, 0);

    private final Node[] children;

    /**
     * The children's positions in ascending order, or null while they are 0, 1, 2 and so on. Most
     * nodes never lose a child, and then there is neither an array to copy nor one to search.
     */
    private final int[] positions;

    /**
     * Key, value, key, value: ascending by key. One array, so that an edit copies one. None is
     * always the same object, so that a visitor can ask without following the reference.
     */
    private final byte[][] attributes;

    private final int nextPosition;

    private Node(Node[] children, int[] positions, byte[][] attributes, int nextPosition) {
        this.children = children;
        this.positions = positions;
        this.attributes = attributes;
        this.nextPosition = nextPosition;
    }

    /** A node with children at 0, 1, 2 and so on, and at most one attribute: for bulk building. */
    static Node of(Node[] children, byte[]... keyAndValue) {
        byte[][] attributes = keyAndValue.length == 0 ? NO_ATTRIBUTES : keyAndValue;
        return new Node(children, null, attributes, children.length);
    }

    Node addChildAt(int... path) {
        return editAt(path, 0, Node::withChildAdded);
    }

    Node deleteChildAt(int[] path, int position) {
        return editAt(path, 0, node -> node.withoutChild(position));
    }

    Node putAttribute(int[] path, byte[] key, byte[] value) {
        return editAt(path, 0, node -> node.withAttribute(key, value));
    }

    Node deleteAttribute(int[] path, byte[] key) {
        return editAt(path, 0, node -> node.withoutAttribute(key));
    }

    /** The value of an attribute, or null. */
    byte[] getAttributes(int[] path, byte[] key) {
        Node node = nodeAt(path);
        int at = node == null ? -1 : node.indexOfKey(key);
        return at < 0 ? null : node.attributes[at + 1];
    }

    /** All attributes, key before value, ascending by key. */
    byte[][] assocAttribute(int... path) {
        Node node = nodeAt(path);
        return node == null ? NO_ATTRIBUTES : node.attributes.clone();
    }

    Node[] getChildren(int... path) {
        Node node = nodeAt(path);
        return node == null ? NO_CHILDREN : node.children.clone();
    }

    /** The positions of the children, in the order of {@link #getChildren}. */
    int[] childPositions(int... path) {
        Node node = nodeAt(path);
        return node == null ? new int[0] : node.positionsAsArray();
    }

    int numOfChild(int... path) {
        Node node = nodeAt(path);
        return node == null ? 0 : node.children.length;
    }

    /** The newest child, or null. */
    Node currentChild(int... path) {
        Node node = nodeAt(path);
        int count = node == null ? 0 : node.children.length;
        return count == 0 ? null : node.children[count - 1];
    }

    boolean isLeaf() {
        return children.length == 0;
    }

    boolean hasAttributes() {
        return attributes != NO_ATTRIBUTES;
    }

    /** This node's own attribute, or null. */
    byte[] attribute(byte[] key) {
        int at = indexOfKey(key);
        return at < 0 ? null : attributes[at + 1];
    }

    /** Calls the visitor on this node and all below it, parents before children. */
    void visit(Consumer<Node> visitor) {
        visitor.accept(this);
        for (Node child : children) {
            child.visit(visitor);
        }
    }

    /**
     * Goes on from a sum with this node and all below it, parents first: how many attributes it
     * has, their keys and values, how many children, and before each of them its position. It is
     * the same in all systems.
     */
    int checksum(int start) {
        int sum = 31 * start + attributes.length / 2;
        for (byte[] keyOrValue : attributes) {
            for (byte one : keyOrValue) {
                sum = 31 * sum + Byte.toUnsignedInt(one);
            }
        }
        sum = 31 * sum + children.length;
        for (int at = 0; at < children.length; at++) {
            int position = positions == null ? at : positions[at];
            sum = children[at].checksum(31 * sum + position);
        }
        return sum;
    }

    private Node editAt(int[] path, int depth, UnaryOperator<Node> edit) {
        if (depth == path.length) {
            return edit.apply(this);
        }
        int at = indexOfPosition(path[depth]);
        if (at < 0) {
            return this;
        }
        Node[] copy = children.clone();
        copy[at] = children[at].editAt(path, depth + 1, edit);
        return new Node(copy, positions, attributes, nextPosition);
    }

    private Node nodeAt(int[] path) {
        Node node = this;
        for (int position : path) {
            int at = node.indexOfPosition(position);
            if (at < 0) {
                return null;
            }
            node = node.children[at];
        }
        return node;
    }

    private Node withChildAdded() {
        int count = children.length;
        Node[] more = Arrays.copyOf(children, count + 1);
        more[count] = EMPTY;
        int[] places = null;
        if (positions != null) {
            places = Arrays.copyOf(positions, count + 1);
            places[count] = nextPosition;
        }
        return new Node(more, places, attributes, nextPosition + 1);
    }

    private Node withoutChild(int position) {
        int at = indexOfPosition(position);
        if (at < 0) {
            return this;
        }
        int count = children.length;
        Node[] fewer = Arrays.copyOf(children, count - 1);
        System.arraycopy(children, at + 1, fewer, at, count - 1 - at);
        int[] old = positionsAsArray();
        int[] places = Arrays.copyOf(old, count - 1);
        System.arraycopy(old, at + 1, places, at, count - 1 - at);
        return new Node(fewer, places, attributes, nextPosition);
    }

    private Node withAttribute(byte[] key, byte[] value) {
        int at = indexOfKey(key);
        byte[][] copy;
        if (at >= 0) {
            copy = attributes.clone();
            copy[at + 1] = value;
        } else {
            int place = -at - 1;
            copy = Arrays.copyOf(attributes, attributes.length + 2);
            System.arraycopy(attributes, place, copy, place + 2, attributes.length - place);
            copy[place] = key;
            copy[place + 1] = value;
        }
        return new Node(children, positions, copy, nextPosition);
    }

    private Node withoutAttribute(byte[] key) {
        int at = indexOfKey(key);
        if (at < 0) {
            return this;
        }
        if (attributes.length == 2) {
            return new Node(children, positions, NO_ATTRIBUTES, nextPosition);
        }
        byte[][] copy = Arrays.copyOf(attributes, attributes.length - 2);
        System.arraycopy(attributes, at + 2, copy, at, copy.length - at);
        return new Node(children, positions, copy, nextPosition);
    }

    private int[] positionsAsArray() {
        if (positions != null) {
            return positions.clone();
        }
        int[] dense = new int[children.length];
        Arrays.setAll(dense, i -> i);
        return dense;
    }

    private int indexOfPosition(int position) {
        if (positions == null) {
            return position < children.length ? position : -1;
        }
        return Arrays.binarySearch(positions, position);
    }

    /** The index of the key, or -1 - the index where it would have to be. */
    private int indexOfKey(byte[] key) {
        int low = 0;
        int high = attributes.length / 2;
        while (low < high) {
            int middle = (low + high) >>> 1;
            byte[] found = attributes[2 * middle];
            int order = found == key ? 0 : Arrays.compareUnsigned(found, key);
            if (order == 0) {
                return 2 * middle;
            }
            if (order < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return -1 - 2 * low;
    }
}
