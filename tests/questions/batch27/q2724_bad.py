import random
import torch
import torch.nn as nn

torch.set_num_threads(1)
torch.manual_seed(0)
random.seed(0)

CHARS = ['<pad>', 'B', 'E', 'X', 'Y', 'a', 'b', 'c', 'd']
CHAR2IDX = {c: i for i, c in enumerate(CHARS)}
CLASSES = {('X', 'X'): 0, ('X', 'Y'): 1, ('Y', 'X'): 2, ('Y', 'Y'): 3}
MAX_LEN = 24


def generate_pair():
    length = random.randint(8, MAX_LEN)
    seq = ['B'] + [random.choice('abcd') for _ in range(length - 2)] + ['E']
    p1 = random.randint(1, length // 2 - 1)
    p2 = random.randint(length // 2, length - 2)
    s1, s2 = random.choice('XY'), random.choice('XY')
    seq[p1], seq[p2] = s1, s2
    return seq, CLASSES[(s1, s2)]


def pad_sequences(sequences, maxlen):
    out = torch.zeros(len(sequences), maxlen, dtype=torch.long)
    for i, s in enumerate(sequences):
        ids = torch.tensor([CHAR2IDX[c] for c in s])
        out[i, maxlen - len(ids):] = ids
    return out


def get_batch(batch_size=32):
    pairs = [generate_pair() for _ in range(batch_size)]
    seqs = [p[0] for p in pairs]
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequences(seqs, MAX_LEN), lengths, torch.tensor([p[1] for p in pairs])


class SimpleLSTM(nn.Module):
    def __init__(self, hidden_size=32):
        super().__init__()
        self.lstm = nn.LSTM(len(CHARS), hidden_size, batch_first=True)
        self.linear = nn.Linear(hidden_size, 4)

    def forward(self, x, lengths):
        x = nn.functional.one_hot(x, len(CHARS)).float()
        h, _ = self.lstm(x)
        last = h[torch.arange(h.shape[0]), lengths - 1]
        return self.linear(last)


model = SimpleLSTM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)

for epoch in range(8):
    model.train()
    num_correct, total_loss = 0, 0.0
    for _ in range(60):
        data, lengths, target = get_batch()
        output = model(data, lengths)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total_loss += loss.item()
        num_correct += (output.argmax(1) == target).sum().item()
    model.eval()
    with torch.no_grad():
        data, lengths, target = get_batch(400)
        test_acc = (model(data, lengths).argmax(1) == target).float().mean().item()
    print(f'[Epoch {epoch + 1}/8] loss: {total_loss / 60:.4f}, acc: {num_correct / (60 * 32):.3f} - test acc: {test_acc:.3f}')
