import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(7)
torch.set_num_threads(1)

PHONES, MELS = 20, 16
voice = torch.randn(PHONES, MELS)


def make_utterances(n):
    items = []
    for _ in range(n):
        length = int(torch.empty(1).log_normal_(2.6, 0.8).clamp(4, 90).item())
        phones = torch.randint(1, PHONES, (length,))
        mel = voice[phones] + 0.6 * voice[phones.roll(1)] + 0.3 * torch.randn(length, MELS)
        items.append((phones, mel))
    return items


def collate(items):
    phones = pad_sequence([p for p, _ in items], batch_first=True)
    mels = pad_sequence([m for _, m in items], batch_first=True)
    lengths = torch.tensor([len(p) for p, _ in items])
    mask = torch.arange(phones.size(1))[None, :] < lengths[:, None]
    return phones, mels, mask


class AcousticModel(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.emb = nn.Embedding(PHONES, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, MELS)

    def forward(self, phones):
        x = self.emb(phones)
        x = x + torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.out(self.norm(x))


class SpecLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.mse = nn.MSELoss()

    def forward(self, pred, target, mask):
        mask = mask.unsqueeze(-1).expand_as(target)
        return self.mse(pred.masked_select(mask), target.masked_select(mask))


def validate(model, items, batch_size):
    model.eval()
    losses = []
    with torch.no_grad():
        for phones, mels, mask in DataLoader(items, batch_size, collate_fn=collate):
            losses.append(criterion(model(phones), mels, mask).item())
    return sum(losses) / len(losses)


train_items, valid_items = make_utterances(600), make_utterances(128)
loader = DataLoader(train_items, 16, shuffle=True, collate_fn=collate)
model, criterion = AcousticModel(), SpecLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(12):
    model.train()
    total = 0.0
    for phones, mels, mask in loader:
        optimizer.zero_grad()
        loss = criterion(model(phones), mels, mask)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} train loss {total / len(loader):.4f}")

for size in (1, 8, 64):
    print(f"valid loss with batch size {size}: {validate(model, valid_items, size):.4f}")
