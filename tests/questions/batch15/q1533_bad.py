import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

WORDS = "<pad> <start> <end> a the red green blue small large dog horse bird bus runs sleeps waits on in grass street".split()
VOCAB = {word: i for i, word in enumerate(WORDS)}
COLORS, ANIMALS = ["red", "green", "blue"], ["dog", "horse", "bird", "bus"]
ACTIONS, PLACES = ["runs", "sleeps", "waits"], [["on", "the", "grass"], ["in", "the", "street"], []]
BASIS = torch.randn(13, 24, generator=torch.Generator().manual_seed(0))


def make_example(generator):
    color, animal, action, place = (torch.randint(n, (1,), generator=generator).item() for n in (3, 4, 3, 3))
    feature = BASIS[color] + BASIS[3 + animal] + BASIS[7 + action] + BASIS[10 + place]
    feature = feature + 0.2 * torch.randn(24, generator=generator)
    words = ["<start>", "a", COLORS[color], ANIMALS[animal], ACTIONS[action], *PLACES[place], "<end>"]
    return feature, torch.tensor([VOCAB[word] for word in words])


def collate_fn(data):
    data.sort(key=lambda example: len(example[1]), reverse=True)
    features, captions = zip(*data)
    return torch.stack(features), pad_sequence(captions, batch_first=True), [len(cap) for cap in captions]


class DecoderRNN(nn.Module):
    def __init__(self, embed_size, hidden_size):
        super().__init__()
        self.embed = nn.Embedding(len(WORDS), embed_size)
        self.init_h = nn.Linear(24, hidden_size)
        self.lstm = nn.LSTM(embed_size, hidden_size, batch_first=True)
        self.linear = nn.Linear(hidden_size, len(WORDS))

    def start_state(self, features):
        h = torch.tanh(self.init_h(features))[None]
        return h, torch.zeros_like(h)

    def forward(self, features, captions, lengths):
        packed = pack_padded_sequence(self.embed(captions), lengths, batch_first=True)
        hiddens, _ = self.lstm(packed, self.start_state(features))
        return self.linear(hiddens.data)

    @torch.no_grad()
    def sample(self, features, max_len=9):
        word, state, out = torch.full((len(features), 1), VOCAB["<start>"]), self.start_state(features), []
        for _ in range(max_len):
            hidden, state = self.lstm(self.embed(word), state)
            word = self.linear(hidden).argmax(-1)
            out.append(word)
        return torch.cat(out, 1)


def to_text(ids):
    words = [WORDS[i] for i in ids.tolist()]
    return " ".join(words[: words.index("<end>")] if "<end>" in words else words)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    train = [make_example(generator) for _ in range(1200)]
    test = [make_example(generator) for _ in range(100)]
    decoder = DecoderRNN(32, 64)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(decoder.parameters(), lr=1e-2)
    for epoch in range(6):
        total, steps = 0.0, 0
        for rows in torch.randperm(len(train)).split(40):
            features, captions, lengths = collate_fn([train[i] for i in rows])
            targets = pack_padded_sequence(captions, lengths, batch_first=True).data
            outputs = decoder(features, captions, lengths)
            loss = criterion(outputs, targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, steps = total + loss.item(), steps + 1
        features, captions, _ = collate_fn(list(test))
        guess = [to_text(ids) for ids in decoder.sample(features)]
        right = sum(g == to_text(ids[1:]) for g, ids in zip(guess, captions)) / len(guess)
        print(f"epoch {epoch}: loss {total / steps:.5f}  captions right {right:.2f}  e.g. {guess[0]!r}")
    print("truth", repr(to_text(captions[0][1:])))


if __name__ == "__main__":
    main()
