import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
VOCAB, STEPS, N_CLASS = 200, 40, 4


class WordRNN(nn.Module):
    def __init__(self, vocab_size, embed_size, hid_size):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_size)
        self.rnn = nn.GRU(embed_size, hid_size, bidirectional=True)
        self.word_attn = nn.Linear(2 * hid_size, 2 * hid_size)
        self.context = nn.Linear(2 * hid_size, 1, bias=False)

    def forward(self, inp):
        emb = self.embed(inp)
        states, _ = self.rnn(emb)
        annotation = torch.tanh(self.word_attn(states))
        attn = F.softmax(self.context(annotation), dim=0)
        return (attn * states).sum(0)


class DocClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = WordRNN(VOCAB, 24, 24)
        self.out = nn.Linear(48, N_CLASS)

    def forward(self, inp):
        return self.out(self.words(inp))


def make_docs(n, gen):
    docs = torch.randint(N_CLASS * 3, VOCAB, (n, STEPS), generator=gen)
    label = torch.randint(0, N_CLASS, (n,), generator=gen)
    key = label * 3 + torch.randint(0, 3, (n,), generator=gen)
    pos = torch.randint(0, STEPS, (n,), generator=gen)
    docs[torch.arange(n), pos] = key
    return docs, label


@torch.no_grad()
def accuracy(model, docs, label, batch):
    model.eval()
    hit = 0
    for i in range(0, docs.size(0), batch):
        pred = model(docs[i:i + batch].t()).argmax(1)
        hit += (pred == label[i:i + batch]).sum().item()
    model.train()
    return hit / docs.size(0)


gen = torch.Generator().manual_seed(5)
train_x, train_y = make_docs(2000, gen)
test_x, test_y = make_docs(300, gen)
model = DocClassifier()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    order = torch.randperm(train_x.size(0))
    total, count = 0.0, 0
    for i in range(0, order.size(0), 50):
        idx = order[i:i + 50]
        logits = model(train_x[idx].t())
        loss = F.cross_entropy(logits, train_y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        count += 1

print(f"train loss {total / count:.4f}")
print(f"test accuracy, 50 documents at a time {accuracy(model, test_x, test_y, 50):.3f}")
print(f"test accuracy, 1 document at a time {accuracy(model, test_x, test_y, 1):.3f}")
