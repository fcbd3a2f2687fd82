"""Well-known lines that are shown more often, because people type their beginnings as a prompt."""

# Found in the two sources by their first words; what follows there is shown too.
FROM_SOURCES = """
In the beginning, God created
In the beginning was the Word
God said, "Let there be light,"
Now the serpent was more subtle
Yahweh is my shepherd
The heavens declare the glory of God
I will lift up my eyes to the hills
Where could I go from your Spirit?
Blessed is the man who doesn't walk
Trust in Yahweh with all your heart
A gentle answer turns away wrath
Pride goes before destruction
For everything there is a season
"Vanity of vanities," says the Preacher
"You shall not murder.
"Honor your father and your mother
Hear, Israel: Yahweh is our God
For a child is born to us.
"Blessed are the poor in spirit
"You are the salt of the earth
You are the light of the world
'Our Father in heaven
"Don't judge, so that you won't be judged
"Ask, and it will be given you
"Come to me, all you who labor
For God so loved the world
Jesus said to him, "I am the way
There were shepherds in the same country
He said, "A certain man had two sons
Love is patient and is kind
Now faith is assurance of things hoped for
I can do all things through Christ
If God is for us, who can be against us?
"I am the Alpha and the Omega
It is a truth universally acknowledged, that
Emma Woodhouse, handsome, clever, and rich,
The family of Dashwood had long been settled
About thirty years ago Miss Maria Ward
No one who had ever seen Catherine Morland
Sir Walter Elliot, of Kellynch Hall,
However little known the feelings or views
"My dear Mr. Bennet," said his lady
Mr. Bennet was among the earliest
Mr. Bennet was so odd a mixture
"In vain I have struggled.
She was the youngest of the two daughters
The person, be it gentleman or lady,
"If I loved you less,
I can listen no longer in silence.
Elizabeth, having rather expected
Vanity and pride are different things
""".strip().splitlines()

# Some of them as many people know them: (typed beginning, beginning in the source it replaces).
VARIANTS = [
    ("In the beginning God created", "In the beginning, God created"),
    ("In the beginning God created", "In the beginning, God created"),
    ("The LORD is my shepherd;", "Yahweh is my shepherd;"),
    ("The Lord is my shepherd;", "Yahweh is my shepherd;"),
    ("Let there be light", 'God said, "Let there be light'),
    ("Our Father in heaven", "'Our Father in heaven"),
    ("Blessed are the poor in spirit", '"Blessed are the poor in spirit'),
]

# Old sayings and rhymes, and plain sentences written for this project.
WRITTEN = """
The cat sat on the mat. The dog sat by the door.
The cat sat on the mat and looked at the bird.
The dog ran after the cat, and the cat ran up the tree.
The quick brown fox jumps over the lazy dog.
Once upon a time there was a king who had three sons.
Once upon a time there was a little girl who lived in a small house with her mother.
Once upon a time, in a land far away, there lived an old man and his wife.
Long ago, in a small village, there lived a poor man who had a daughter.
My name is Mary, and I live in the country with my father and mother.
My name is John, and I am very happy to see you.
Hello, my name is Mary. What is your name?
Hello, how are you? I am very well, thank you.
Good morning, how do you do?
I am very glad to see you.
I love you with all my heart.
I think, therefore I am.
I went to the house of my friend, and we had dinner together.
I want to go home and see my mother.
I like to read a good book in the evening.
What is the meaning of life?
Where are you going? I am going to the city.
Who are you? I am your friend.
The sun was shining, and the birds were singing in the trees.
The sun rises in the east and sets in the west.
The sky is blue, and the grass is green.
The weather is fine today, and we will walk in the garden.
Today is a good day to walk in the garden.
It was a dark and stormy night, and the rain fell in torrents.
It was the best of times, it was the worst of times.
To be, or not to be, that is the question.
All the world's a stage, and all the men and women merely players.
Call me Ishmael. Some years ago I went to sea.
Four score and seven years ago our fathers brought forth a new nation.
We hold these truths to be self-evident, that all men are created equal.
All happy families are alike; every unhappy family is unhappy in its own way.
Mary had a little lamb, its fleece was white as snow, and everywhere that Mary went the lamb was sure to go.
Twinkle, twinkle, little star, how I wonder what you are!
Humpty Dumpty sat on a wall, Humpty Dumpty had a great fall.
Row, row, row your boat, gently down the stream.
Roses are red, violets are blue, sugar is sweet, and so are you.
An apple a day keeps the doctor away.
A friend in need is a friend indeed.
All that glitters is not gold.
Actions speak louder than words.
Better late than never.
The early bird catches the worm.
Time flies like an arrow.
Where there is a will, there is a way.
When in Rome, do as the Romans do.
The pen is mightier than the sword.
Practice makes perfect.
One, two, three, four, five, six, seven, eight, nine, ten.
Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday.
One plus one is two, and two plus two is four.
The capital of France is Paris, and the capital of England is London.
The king sat on his throne, and the queen sat by his side.
The man went to the market to buy bread, and the woman went to the well to draw water.
The boy gave the girl a flower, and she thanked him.
The children were playing in the garden.
She opened the door and looked into the room.
She looked at him and smiled.
He looked at her and said nothing.
He took the book from the table and began to read.
They walked together along the road until they came to the river.
This is the house that Jack built.
There was an old woman who lived in a shoe.
There was once a man who had two sons.
""".strip().splitlines()  # noqa: E501
