import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(width):
    return nn.Sequential(
        nn.Linear(12, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 6)
    )


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 12, generator=g)
    y = (x[:, :6] + 0.5 * x[:, 6:].pow(2)).argmax(1)
    return TensorDataset(x, y)


def kd_loss(student_logits, target, teacher_logits, alpha=0.9, temperature=4.0):
    soft = F.kl_div(
        F.log_softmax(student_logits / temperature, 1),
        F.softmax(teacher_logits / temperature, 1),
        reduction="batchmean",
    )
    return alpha * temperature**2 * soft + (1 - alpha) * F.cross_entropy(student_logits, target)


def fetch_teacher_outputs(teacher, loader):
    teacher.eval()
    outputs = []
    with torch.no_grad():
        for data, _ in loader:
            outputs.append(teacher(data))
    return outputs


def evaluate(model, data):
    with torch.no_grad():
        return (model(data.tensors[0]).argmax(1) == data.tensors[1]).float().mean().item()


def main():
    torch.manual_seed(0)
    train_data, test_data = make_data(1200, 0), make_data(400, 1)
    loader = DataLoader(train_data, batch_size=60, shuffle=True)
    teacher, student = mlp(128), mlp(16)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(15):
        for data, target in loader:
            optimizer.zero_grad()
            F.cross_entropy(teacher(data), target).backward()
            optimizer.step()
    print(f"teacher: train {evaluate(teacher, train_data):.3f}  test {evaluate(teacher, test_data):.3f}")

    teacher_outputs = fetch_teacher_outputs(teacher, loader)
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    for epoch in range(15):
        for i, (data, target) in enumerate(loader):
            loss = kd_loss(student(data), target, teacher_outputs[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 5 == 4:
            print(
                f"epoch {epoch}: kd loss {loss.item():.3f}  student test {evaluate(student, test_data):.3f}"
            )


if __name__ == "__main__":
    main()
