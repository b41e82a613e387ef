import torch
import torch.nn as nn
from torch.utils.data import DataLoader


class TextSentiment(nn.Module):
    def __init__(self, vocab=200, width=32, classes=4):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, width)
        self.fc = nn.Linear(width, classes)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def make_texts(n, seed):
    g = torch.Generator().manual_seed(seed)
    topics = torch.rand(4, 200, generator=torch.Generator().manual_seed(8)).pow(4)
    texts = []
    for label in torch.randint(4, (n,), generator=g).tolist():
        length = int(torch.randint(5, 15, (1,), generator=g))
        texts.append((label, torch.multinomial(topics[label], length, replacement=True, generator=g)))
    return texts


def generate_batch(batch):
    label = torch.tensor([entry[0] for entry in batch])
    text = [entry[1] for entry in batch]
    offsets = torch.tensor([0] + [len(entry) for entry in text[:-1]]).cumsum(0)
    return torch.cat(text), offsets, label


def train(model, criterion, optimizer, data_):
    total, hits = 0.0, 0
    for text, offsets, cls in DataLoader(data_, batch_size=16, shuffle=True, collate_fn=generate_batch):
        optimizer.zero_grad()
        output = model(text, offsets)
        batch = criterion(output, cls)
        total += batch.item() * len(cls)
        batch.backward()
        optimizer.step()
        hits += (output.argmax(1) == cls).sum().item()
    return total / len(data_), hits / len(data_)


def test(model, criterion, data_):
    loss, acc = 0.0, 0
    data = DataLoader(data_, batch_size=16, collate_fn=generate_batch)
    for text, offsets, cls in data:
        with torch.no_grad():
            output = model(text, offsets)
            loss = criterion(output, cls)
            loss += loss.item()
            acc += (output.argmax(1) == cls).sum().item()
    return float(loss) / len(data), acc / len(data_)


def main():
    torch.manual_seed(0)
    train_data, valid_data = make_texts(600, 0), make_texts(200, 1)
    model = TextSentiment()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    for epoch in range(6):
        train_loss, train_acc = train(model, criterion, optimizer, train_data)
        valid_loss, valid_acc = test(model, criterion, valid_data)
        print(
            f"epoch {epoch}: train {train_loss:.4f} ({train_acc:.3f})  valid {valid_loss:.4f} ({valid_acc:.3f})"
        )


if __name__ == "__main__":
    main()
