import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)

VOCAB, LENGTH, WORD_DIM = 40, 16, 24


def sample(n):
    text = torch.randint(4, VOCAB, (n, LENGTH))
    label = torch.randint(0, 2, (n,))
    start = torch.randint(0, LENGTH - 3, (n,))
    for i in range(n):
        s = int(start[i])
        text[i, s:s + 3] = torch.tensor([1, 2, 3]) if label[i] == 1 else torch.tensor([3, 2, 1])
    return text, label


class SentenceNet(nn.Module):
    def __init__(self, word_vectors):
        super(SentenceNet, self).__init__()
        self.embed = nn.Embedding.from_pretrained(word_vectors)
        self.conv1d = nn.ModuleList([
            nn.Conv1d(WORD_DIM, 2, 3),
            nn.Conv1d(WORD_DIM, 2, 4),
            nn.Conv1d(WORD_DIM, 2, 5),
        ])
        self.fc = nn.Linear(6, 2)

    def forward(self, text):
        x = self.embed(text).transpose(1, 2)
        pooled = [F.relu(conv(x)).max(dim=2)[0] for conv in self.conv1d]
        return self.fc(torch.cat(pooled, dim=1))


train_x, train_y = sample(1200)
test_x, test_y = sample(400)
net = SentenceNet(torch.randn(VOCAB, WORD_DIM))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()

for epoch in range(15):
    order = torch.randperm(len(train_x))
    total = 0.0
    for i in range(0, len(order), 60):
        idx = order[i:i + 60]
        optimizer.zero_grad()
        loss = criterion(net(train_x[idx]), train_y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            acc = (net(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1:2d}  loss {total / 20:.4f}  test accuracy {acc:.3f}")
