import torch
import torch.nn as nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(30, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 5)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        x = self.dropout(torch.relu(self.fc1(x)))
        x = self.dropout(torch.relu(self.fc2(x)))
        return self.fc3(x)


def make_loaders(batch_size=20, valid_size=0.2):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(1000, 30, generator=g)
    y = (x[:, :5] + 0.8 * torch.randn(1000, 5, generator=g)).argmax(1)
    data = TensorDataset(x, y)
    order = torch.randperm(len(data), generator=g).tolist()
    split = int(valid_size * len(data))
    train_loader = DataLoader(data, batch_size=batch_size, sampler=SubsetRandomSampler(order[split:]))
    valid_loader = DataLoader(data, batch_size=batch_size, sampler=SubsetRandomSampler(order[:split]))
    return train_loader, valid_loader


def main():
    torch.manual_seed(0)
    train_loader, valid_loader = make_loaders()
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best = float("inf")
    for epoch in range(25):
        train_loss = valid_loss = 0.0
        model.train()
        for data, target in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(data), target)
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * data.size(0)
        model.eval()
        with torch.no_grad():
            for data, target in valid_loader:
                valid_loss += criterion(model(data), target).item() * data.size(0)
        train_loss = train_loss / len(train_loader.dataset)
        valid_loss = valid_loss / len(valid_loader.dataset)
        if epoch % 4 == 0:
            print(f"epoch {epoch}: training loss {train_loss:.4f}  validation loss {valid_loss:.4f}")
        best = min(best, valid_loss)
    print(f"best validation loss {best:.4f}")


if __name__ == "__main__":
    main()
