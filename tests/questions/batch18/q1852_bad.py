import torch
from torch import nn

torch.manual_seed(0)
VOCAB, CLASSES, SEQ_LEN = 40, 4, 60


class SentenceClassifier(nn.Module):
    def __init__(self, embed_dim=16, hidden_size=16):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embed_dim)
        self.rnn = nn.LSTM(embed_dim, hidden_size, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden_size, CLASSES)

    def forward(self, tokens):
        output, (h_n, c_n) = self.rnn(self.embedding(tokens))
        sentence = output[:, -1]
        return self.fc(sentence)


def make_batch(n):
    labels = torch.randint(0, CLASSES, (n,))
    tokens = torch.randint(CLASSES, VOCAB, (n, SEQ_LEN))
    tokens[torch.arange(n), torch.randint(0, 3, (n,))] = labels
    return tokens, labels


model = SentenceClassifier()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(120):
    tokens, labels = make_batch(32)
    loss = criterion(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 30 == 0:
        print(f"step {step + 1}: loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    tokens, labels = make_batch(1000)
    accuracy = (model(tokens).argmax(dim=1) == labels).float().mean().item()
print(f"accuracy {accuracy:.3f}")
