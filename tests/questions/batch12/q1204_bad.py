import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 60


def mlp(hidden):
    return nn.Sequential(nn.Linear(32, hidden), nn.ReLU(), nn.Linear(hidden, CLASSES))


def make_data(n, generator, noise):
    centres = torch.randn(CLASSES, 32, generator=torch.Generator().manual_seed(7))
    y = torch.randint(CLASSES, (n,), generator=generator)
    x = centres[y] + 0.9 * torch.randn(n, 32, generator=generator)
    wrong = torch.rand(n, generator=generator) < noise
    labels = torch.where(wrong, torch.randint(CLASSES, (n,), generator=generator), y)
    return x, labels


def loss_fn_kd(outputs, labels, teacher_outputs, alpha=0.5, temperature=4.0):
    soft = nn.KLDivLoss()(
        F.log_softmax(outputs / temperature, dim=1),
        F.softmax(teacher_outputs / temperature, dim=1),
    )
    hard = F.cross_entropy(outputs, labels)
    return soft * (alpha * temperature * temperature) + hard * (1.0 - alpha)


def fit(model, loss_of, x, y, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(x)).split(128):
            loss = loss_of(model(x[rows]), x[rows], y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
    print(f"last epoch: loss {total / len(x):.4f}")


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    x_clean, y_clean = make_data(6000, generator, 0.0)
    x, y = make_data(2500, generator, 0.5)
    x_test, y_test = make_data(2000, generator, 0.0)
    teacher = mlp(128)
    fit(teacher, lambda out, _, y: F.cross_entropy(out, y), x_clean, y_clean, 10, 0.05)
    teacher.eval()
    print(f"teacher accuracy {accuracy(teacher, x_test, y_test):.3f}")
    student = mlp(48)

    def distil(out, x, y):
        with torch.no_grad():
            teacher_out = teacher(x)
        return loss_fn_kd(out, y, teacher_out)

    fit(student, distil, x, y, 40, 0.05)
    with torch.no_grad():
        log_ratio = F.log_softmax(teacher(x_test), 1) - F.log_softmax(student(x_test), 1)
        gap = (F.softmax(teacher(x_test), 1) * log_ratio).sum(1).mean()
    print(f"student accuracy {accuracy(student, x_test, y_test):.3f}  divergence from teacher {gap:.3f}")


if __name__ == "__main__":
    main()
