import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_blobs(n, generator):
    centers = torch.randn(10, 20, generator=torch.Generator().manual_seed(5))
    labels = torch.randint(0, 10, (n,), generator=generator)
    x = centers[labels] + 0.6 * torch.randn(n, 20, generator=generator)
    return TensorDataset(torch.sin(x), labels)


def build_model():
    layers, width = [], 20
    for _ in range(4):
        layers += [nn.Linear(width, 40), nn.BatchNorm1d(40), nn.SiLU()]
        width = 40
    return nn.Sequential(*layers, nn.Linear(width, 10))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def train_with_early_stopping(model, optimizer, criterion, train_loader, valid_loader, n_epochs, patience, scheduler):
    best, waited, rates = 0.0, 0, []
    for epoch in range(n_epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()
            total += loss.item()
        rates.append(optimizer.param_groups[0]["lr"])
        accuracy = evaluate(model, valid_loader)
        print(f"epoch {epoch}: loss {total / len(train_loader):.4f} valid {accuracy:.3f} lr {rates[-1]:.2e}")
        if accuracy > best:
            best, waited = accuracy, 0
        else:
            waited += 1
            if waited == patience:
                break
    return best, max(rates)


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    train_loader = DataLoader(make_blobs(1280, generator), batch_size=32, shuffle=True)
    valid_loader = DataLoader(make_blobs(400, generator), batch_size=100)
    n_epochs = 8
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, epochs=n_epochs, steps_per_epoch=len(train_loader), max_lr=2e-2
    )
    best, top = train_with_early_stopping(
        model, optimizer, nn.CrossEntropyLoss(), train_loader, valid_loader, n_epochs, patience=20, scheduler=scheduler
    )
    print(f"best accuracy {best:.3f}, highest rate {top:.2e}")


main()
