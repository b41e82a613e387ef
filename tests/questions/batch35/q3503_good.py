import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB, TAGS, LENGTH = 60, 5, 20


class Tagger(nn.Module):
    def __init__(self, dim=48, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.position = nn.Embedding(LENGTH, dim)
        block = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(block, layers)
        self.classifier = nn.Linear(dim, TAGS)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1])
        h = self.embed(tokens) + self.position(places)
        return self.classifier(self.encoder(h))


def make_dataset(n):
    tokens = torch.randint(0, VOCAB, (n, LENGTH))
    before = torch.roll(tokens, 1, dims=1)
    tags = (tokens // 15 + (before % 3 == 0).long()) % TAGS
    return TensorDataset(tokens, tags)


def train(model, loader, epochs, lr):
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for tokens, tags in loader:
            logits = model(tokens)
            loss = loss_fn(logits.reshape(-1, TAGS), tags.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")


def evaluate(model, loader):
    model.eval()
    hits, seen = 0, torch.zeros(TAGS, dtype=torch.long)
    count = 0
    with torch.no_grad():
        for tokens, tags in loader:
            pred = model(tokens).argmax(-1)
            hits += (pred == tags).sum().item()
            count += tags.numel()
            seen += torch.bincount(pred.reshape(-1), minlength=TAGS)
    print(f"accuracy {hits / count:.3f}, predicted tags {seen.tolist()}")


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_dataset(640), batch_size=32, shuffle=True)
    test_loader = DataLoader(make_dataset(160), batch_size=32)
    model = Tagger()
    train(model, train_loader, epochs=7, lr=0.002)
    evaluate(model, test_loader)


main()
