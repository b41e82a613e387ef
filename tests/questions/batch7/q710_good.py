import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Classifier(nn.Module):
    def __init__(self, dim=40, hidden=256, classes=4, dropout=0.6):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.fc1 = nn.Linear(dim, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x):
        x = self.dropout(torch.relu(self.fc1(x)))
        x = self.dropout(torch.relu(self.fc2(x)))
        return self.out(x)


class Trainer:
    def __init__(self, train_loader, valid_loader):
        self.train_loader = train_loader
        self.valid_loader = valid_loader
        self.model = Classifier()
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def train(self, n_epochs=30):
        for epoch in range(1, n_epochs + 1):
            self.model.train()
            epoch_loss = 0.0
            for features, labels in self.train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(features), labels)
                loss.backward()
                self.optimizer.step()
                epoch_loss += loss.item()
            valid_loss, valid_acc = self.evaluate()
            if epoch % 5 == 0:
                print(
                    f"epoch {epoch}: train {epoch_loss / len(self.train_loader):.4f}"
                    f" valid {valid_loss:.4f} accuracy {valid_acc:.3f}"
                )

    def evaluate(self):
        self.model.eval()
        total, correct, seen = 0.0, 0, 0
        with torch.no_grad():
            for features, labels in self.valid_loader:
                scores = self.model(features)
                total += self.criterion(scores, labels).item() * labels.size(0)
                correct += (scores.argmax(1) == labels).sum().item()
                seen += labels.size(0)
        return total / seen, correct / seen


def make_loader(centers, n, shuffle):
    labels = torch.randint(0, centers.size(0), (n,))
    features = centers[labels] + 1.6 * torch.randn(n, centers.size(1))
    return DataLoader(TensorDataset(features, labels), batch_size=32, shuffle=shuffle)


def main():
    centers = 0.6 * torch.randn(4, 40)
    trainer = Trainer(make_loader(centers, 400, True), make_loader(centers, 800, False))
    trainer.train()


if __name__ == "__main__":
    main()
